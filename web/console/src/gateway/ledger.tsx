import { count } from "../core/text.ts";
import { named } from "../rooms/visible.ts";
import type { Ledger } from "./books.ts";
import { useBooks } from "./use-books.ts";

/** The most repeated keys that are shown. */
const mostKeys = 12;

interface LedgerProps {
  readonly tenant: string;
  readonly source: string;
  readonly onKey: (source: string, key: string) => void;
}

/** A tenant's totals by currency, its books, and the keys that came again most often. */
export function LedgerView({ tenant, source, onKey }: LedgerProps) {
  const { value, fault } = useBooks<Ledger>(`/v1/ledger/${encodeURIComponent(tenant)}`);
  const ledger = value.value;
  if (ledger === undefined) return <p class={fault.value ? "fault" : "muted"}>{fault.value || "Reading…"}</p>;
  const books = ledger.books.filter((b) => source === "" || b.source === source);
  const keys = books
    .flatMap((b) => b.repeated.map((r) => ({ ...r, source: b.source, currency: b.currency })))
    .sort((a, b) => b.hits - a.hits)
    .slice(0, mostKeys);
  return (
    <>
      {fault.value !== "" && <p class="fault">{fault.value}</p>}
      <dl class="tiles">
        {ledger.currencies.map((c) => (
          <div key={c.currency} class="tile wide-tile">
            <dt>{c.currency}</dt>
            <dd>
              <b>{money(c.acceptedTotal)}</b>
              <span>
                accepted, in {count(c.counts.accept)} of {count(c.counts.events)} events
              </span>
              <b class="saved">{money(c.dedupedAmount)}</b>
              <span>not counted twice, in {count(c.counts.dedupe)} repeats</span>
            </dd>
          </div>
        ))}
      </dl>
      {ledger.currencies.length === 0 && <p class="muted">No event has come yet.</p>}
      <div class="columns">
        <div>
          <h2>Books</h2>
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">Source</th>
                <th scope="col" class="number">
                  Accepted
                </th>
                <th scope="col" class="number">
                  Repeats
                </th>
                <th scope="col" class="number">
                  Refused
                </th>
                <th scope="col" class="number">
                  Total
                </th>
              </tr>
            </thead>
            <tbody>
              {books.map((b) => (
                <tr key={`${b.source} ${b.currency}`}>
                  <th scope="row">
                    <bdi>{named(b.source)}</bdi>
                  </th>
                  <td class="number">{count(b.counts.accept)}</td>
                  <td class="number">{count(b.counts.dedupe)}</td>
                  <td class="number">{count(b.counts.reject + b.counts.mismatch)}</td>
                  <td class="number">
                    {money(b.acceptedTotal)} {b.currency}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <div>
          <h2>Most repeated keys</h2>
          {keys.length === 0 && <p class="muted">No key has come again.</p>}
          <table class="plain">
            <tbody>
              {keys.map((k) => (
                <tr key={`${k.source} ${k.currency} ${k.key}`}>
                  <th scope="row">
                    <button type="button" class="link" onClick={() => onKey(k.source, k.key)}>
                      <bdi>{named(k.key)}</bdi>
                    </button>
                  </th>
                  <td>
                    <bdi>{named(k.source)}</bdi>
                  </td>
                  <td class="number">{count(k.hits)} times</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </div>
    </>
  );
}

/** Groups the whole part of a decimal. It stays text: the books are exact, and a double is not. */
export function money(decimal: string): string {
  const [whole = "", part] = decimal.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return part === undefined ? grouped : `${grouped}.${part}`;
}
