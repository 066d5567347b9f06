import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { preciseTime, shortDay } from "../core/text.ts";
import { named, visible } from "../rooms/visible.ts";
import { books, type GatewayEvent, query, type Source } from "./books.ts";

export interface Asked {
  readonly source: string;
  readonly key: string;
}

interface WhyProps {
  readonly tenant: string;
  readonly list: readonly Source[];
  /** The key that was chosen elsewhere on the page. */
  readonly asked: Asked;
}

/** A key's chain: each event of it with its decision, and why it was made. */
export function Why({ tenant, list, asked }: WhyProps) {
  const source = useSignal(asked.source || (list[0]?.source ?? ""));
  const key = useSignal(asked.key);
  const chain = useSignal<readonly GatewayEvent[] | undefined>(undefined);
  const more = useSignal(false);
  const fault = useSignal("");
  const look = async () => {
    if (key.value === "") return;
    try {
      const path = `/v1/events${query({ tenant, source: source.value, key: key.value, limit: 200 })}`;
      const page = await books<{ events: GatewayEvent[]; next?: string }>(path);
      chain.value = page.events;
      more.value = page.next !== undefined;
      fault.value = "";
    } catch (e) {
      chain.value = undefined;
      fault.value = (e as Error).message;
    }
  };
  useEffect(() => {
    if (asked.key === "") return;
    source.value = asked.source;
    key.value = asked.key;
    void look();
  }, [asked]);
  return (
    <div class="why-key">
      <h2 id="why-title">Why?</h2>
      <form
        class="line-form"
        aria-labelledby="why-title"
        onSubmit={(e) => {
          e.preventDefault();
          void look();
        }}
      >
        <label>
          Source{" "}
          <select value={source.value} onChange={(e) => (source.value = e.currentTarget.value)}>
            {list.map((s) => (
              <option key={s.source} value={s.source}>
                {named(s.source)}
              </option>
            ))}
          </select>
        </label>
        <label class="grow">
          Key{" "}
          <input
            class="mono"
            autocomplete="off"
            value={key.value}
            onInput={(e) => (key.value = e.currentTarget.value)}
          />
        </label>
        <button type="submit">Show its chain</button>
      </form>
      <div aria-live="polite">
        {fault.value !== "" && <p class="fault">{fault.value}</p>}
        {chain.value?.length === 0 && <p class="muted">No event of this key is known.</p>}
        {chain.value !== undefined && chain.value.length > 0 && <Chain events={chain.value} />}
        {more.value && <p class="hint">Earlier ones: hapax why.</p>}
      </div>
    </div>
  );
}

const words: Readonly<Record<string, string>> = {
  accept: "accepted",
  duplicate_done: "repeat",
  duplicate_pending: "repeat, still pending",
  mismatch: "mismatch",
  bad_amount: "bad amount",
  unknown_key: "unknown key",
};

const tones: Readonly<Record<string, string>> = { accept: "a", duplicate_done: "b", duplicate_pending: "b" };

function Chain({ events }: { readonly events: readonly GatewayEvent[] }) {
  return (
    <ol class="chain">
      {events.map((e) => (
        <li key={e.id} class={`tone-${tones[e.decision] ?? "c"}`}>
          <span class="chain-time">
            {shortDay(e.at)} {preciseTime(e.at)}
          </span>
          <b>{words[e.decision] ?? e.decision.replaceAll("_", " ")}</b>
          {e.amount !== undefined && (
            <span class="number">
              {visible(e.amount)} {e.currency}
            </span>
          )}
          <span class="why">
            {e.reason}
            {e.forward !== undefined && ` · delivery ${e.forward}`}
          </span>
        </li>
      ))}
    </ol>
  );
}
