import { useSignal } from "@preact/signals";
import { count, many, preciseTime, shortDay } from "../core/text.ts";
import { named } from "../rooms/visible.ts";
import { books, type Delivery, type Letters, query } from "./books.ts";
import { useBooks } from "./use-books.ts";

interface LettersProps {
  readonly tenant: string;
  readonly source: string;
  readonly dead: number;
}

/** Accepted events that their destination wouldn't take, and what can be done about them. */
export function DeadLetters({ tenant, source, dead }: LettersProps) {
  const { value, fault, again } = useBooks<Letters>(`/v1/deadletters${query({ tenant, source, limit: 50 })}`);
  const said = useSignal("");
  const act = async (what: () => Promise<string>) => {
    try {
      said.value = await what();
    } catch (e) {
      said.value = (e as Error).message;
    }
    await again();
  };
  const replay = (d: Delivery) => async () => {
    await books(`/v1/deadletters/${encodeURIComponent(d.id)}/replay`, { method: "POST", once: crypto.randomUUID() });
    return `${d.key} goes out again, under the same id.`;
  };
  const discard = (d: Delivery) => async () => {
    await books(`/v1/deadletters/${encodeURIComponent(d.id)}/discard`, { method: "POST" });
    return `${d.key} is given up.`;
  };
  const replayAll = async () => {
    let replayed = 0;
    let after = "";
    do {
      const body = { tenant, ...(source !== "" && { source }), ...(after !== "" && { after }) };
      const how = { method: "POST", once: crypto.randomUUID(), body } as const;
      const page = await books<{ replayed: number; next?: string }>("/v1/deadletters/replay", how);
      replayed += page.replayed;
      after = page.next ?? "";
    } while (after !== "");
    return `${count(replayed)} go out again, under their own ids.`;
  };
  const list = value.value?.deadLetters ?? [];
  return (
    <div>
      <header class="sub-head">
        <h2>Dead letters</h2>
        {list.length > 0 && (
          <button type="button" onClick={() => act(replayAll)}>
            Replay all {dead > 0 && count(dead)}
          </button>
        )}
      </header>
      {fault.value !== "" && <p class="fault">{fault.value}</p>}
      <p class="hint" role="status">
        {said.value}
      </p>
      {value.value !== undefined && list.length === 0 && <p class="muted">None.</p>}
      {list.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table must scroll by keys, too
        <section class="wide" tabIndex={0} aria-label="Dead letters">
          <table class="plain rows">
            <tbody>
              {list.map((d) => (
                <tr key={d.id}>
                  <th scope="row">
                    <bdi>{named(d.key)}</bdi> <span class="muted">{named(d.source)}</span>
                  </th>
                  <td>{(d.reason ?? "").replaceAll("_", " ")}</td>
                  <td class="number">{many(d.sends, "send")}</td>
                  <td>{d.lastSentAt !== undefined && `${shortDay(d.lastSentAt)} ${preciseTime(d.lastSentAt)}`}</td>
                  <td class="actions">
                    <button type="button" onClick={() => act(replay(d))} aria-label={`Replay ${d.key}`}>
                      Replay
                    </button>{" "}
                    <button type="button" class="quiet" onClick={() => act(discard(d))} aria-label={`Discard ${d.key}`}>
                      Discard
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {value.value?.next !== undefined && <p class="hint">And more behind these.</p>}
        </section>
      )}
    </div>
  );
}
