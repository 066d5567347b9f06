import { count, wait } from "../core/text.ts";
import type { Advice } from "./books.ts";
import { money } from "./ledger.tsx";
import { useBooks } from "./use-books.ts";

interface AdviceProps {
  readonly tenant: string;
  readonly source: string;
}

/** What other windows would have made of the same events. */
export function WindowAdvice({ tenant, source }: AdviceProps) {
  const { value, fault } = useBooks<Advice>(`/v1/advice/${encodeURIComponent(tenant)}/${encodeURIComponent(source)}`);
  const a = value.value;
  return (
    <div>
      <h2>Window</h2>
      {fault.value !== "" && <p class="fault">{fault.value}</p>}
      {a !== undefined && (
        <>
          <p class="muted">
            In force: {wait(a.windowS * 1000)}. The longest gap seen between an event and the one before it:{" "}
            {a.events === 0 ? "none yet" : `${count(a.longestGapS)} s`}
            {!a.complete && ", in the latest part of the log"}.
          </p>
          {a.windows.length > 0 && (
            <table class="plain">
              <thead>
                <tr>
                  <th scope="col">Window</th>
                  <th scope="col" class="number">
                    Repeats
                  </th>
                  <th scope="col" class="number">
                    More let through
                  </th>
                  <th scope="col" class="number">
                    More held
                  </th>
                  <th scope="col" class="number">
                    Let through
                  </th>
                </tr>
              </thead>
              <tbody>
                {a.windows.map((w) => (
                  <tr key={w.windowS} class={w.windowS === a.windowS ? "in-force" : ""}>
                    <th scope="row">
                      {wait(w.windowS * 1000)}
                      {w.windowS === a.windowS && <span class="muted"> in force</span>}
                    </th>
                    <td class="number">{count(w.repeats)}</td>
                    <td class="number">{count(w.letThrough)}</td>
                    <td class="number">{count(w.held)}</td>
                    <td class="number">
                      {Object.entries(w.amounts)
                        .map(([currency, sum]) => `${money(sum)} ${currency}`)
                        .join(", ") || "–"}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </>
      )}
    </div>
  );
}
