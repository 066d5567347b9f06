import type { Client } from "@hapax/client";
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { offerFocus } from "../core/hands.ts";
import { actor } from "../core/sign-in.ts";
import { draftOf } from "./drafts.ts";
import { outgoingOf } from "./outgoing.ts";
import type { RoomView } from "./view.ts";
import { named } from "./visible.ts";

const encoder = new TextEncoder();

interface ComposerProps {
  readonly client: Client;
  readonly view: RoomView;
}

/** Where a message is written. What stands in it goes only once the outbox has it. */
export function Composer({ client, view }: ComposerProps) {
  const draft = draftOf(actor.value, view.room);
  const fault = useSignal("");
  const outgoing = outgoingOf(client, view.room);
  const area = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => offerFocus(area.current), []);

  const write = (next: string) => {
    fault.value = "";
    draft.write(next);
  };
  const send = async () => {
    fault.value = "";
    try {
      await outgoing.send(client, view, draft);
    } catch (e) {
      fault.value = `Not taken, and still here: ${(e as Error).message}`;
    }
  };

  const size = encoder.encode(draft.text).length;
  const most = client.limits.text;
  return (
    <form
      class="composer"
      onSubmit={(e) => {
        e.preventDefault();
        void send();
      }}
    >
      <label class="unseen" for="composer">
        Message to {named(view.room)}
      </label>
      <textarea
        id="composer"
        ref={area}
        dir="auto"
        rows={1}
        placeholder="Say it once"
        aria-describedby="composer-fault composer-size"
        value={draft.text}
        onInput={(e) => write(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key !== "Enter" || e.shiftKey || e.isComposing) return;
          e.preventDefault();
          void send();
        }}
      />
      <button type="submit" class="main" disabled={draft.text.trim() === ""}>
        Send
      </button>
      <p id="composer-size" class={size > most ? "fault" : "hint"} hidden={size < most / 2}>
        {size.toLocaleString("en")} of {most.toLocaleString("en")} bytes
      </p>
      <p id="composer-fault" class="fault" role="alert">
        {fault.value}
      </p>
    </form>
  );
}
