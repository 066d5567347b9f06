import type { Client } from "@hapax/client";
import { now } from "../core/clock.ts";
import { lastAct, offerFocus } from "../core/hands.ts";
import { complain, touchOutbox } from "../core/hapax.ts";
import { standing } from "../core/reasons.ts";
import { wait } from "../core/text.ts";
import { Body } from "./body.tsx";
import type { Waiting } from "./view.ts";

interface WaitingProps {
  readonly client: Client;
  readonly waiting: Waiting;
}

/** A message of the reader's own that the server hasn't confirmed: what became of it so far, and what can be done. */
export function WaitingView({ client, waiting }: WaitingProps) {
  const { row, text, nextAt } = waiting;
  const s = standing(row);
  const act = async (what: "retry" | "cancel" | "discard") => {
    const asked = lastAct();
    try {
      await client[what](row.room, row.id);
    } catch (e) {
      complain(e);
    }
    touchOutbox();
    offerFocus(document.getElementById("composer"), asked);
  };
  const excerpt = text.slice(0, 40);
  return (
    // biome-ignore lint/a11y/useSemanticElements: blocks stand between the list and its items
    <div role="listitem" class={`line mine waiting ${s.word}`} data-row={row.id}>
      <span class="seq" aria-hidden="true">
        ·
      </span>
      <div class="said">
        <Body text={text} />
      </div>
      <span class="state">
        <b>{s.word}</b>
        {s.why !== "" && <span class="why">{s.why}</span>}
        {nextAt > now.value && <span class="why">next try in {wait(nextAt - now.value)}</span>}
        {s.retry && (
          <button type="button" onClick={() => act("retry")} aria-label={`Retry: ${excerpt}`}>
            {s.word === "uncertain" ? "Send again" : "Retry"}
          </button>
        )}
        {s.cancel && s.word === "queued" && (
          <button type="button" class="quiet" onClick={() => act("cancel")} aria-label={`Cancel: ${excerpt}`}>
            Cancel
          </button>
        )}
        {s.discard && s.word !== "queued" && (
          <button type="button" class="quiet" onClick={() => act("discard")} aria-label={`Discard: ${excerpt}`}>
            Discard
          </button>
        )}
      </span>
    </div>
  );
}
