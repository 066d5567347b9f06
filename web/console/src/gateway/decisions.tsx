import { useSignal } from "@preact/signals";
import { count, preciseTime, shortDay } from "../core/text.ts";
import { ceiling } from "../server/ceiling.ts";
import { type Bucket, type Decisions, query } from "./books.ts";
import { useBooks } from "./use-books.ts";

const hour = 3_600_000;
const spans = [
  { name: "an hour", span: hour },
  { name: "a day", span: 24 * hour },
  { name: "a week", span: 168 * hour },
] as const;
/** Bars of a chart. */
const bars = 60;

const kinds = [
  { name: "accepted", tone: "a", of: (b: Bucket) => b.accept },
  { name: "repeats", tone: "b", of: (b: Bucket) => b.duplicateDone + b.duplicatePending },
  { name: "refused", tone: "c", of: (b: Bucket) => b.mismatch + b.badAmount + b.unknownKey },
] as const;

interface DecisionsProps {
  readonly tenant: string;
  readonly source: string;
}

/** How the gateway judged over time: a bar for each step, its parts one above the other. */
export function DecisionsChart({ tenant, source }: DecisionsProps) {
  const chosen = useSignal(0);
  const { span } = spans[chosen.value]!;
  const step = span / bars;
  const { value, fault } = useBooks<Decisions>(() => {
    const to = Math.ceil(Date.now() / step) * step;
    return `/v1/decisions${query({ tenant, source, from: to - span, to, step })}`;
  });
  const list = value.value?.buckets ?? [];
  return (
    <div class="decisions" key={`${tenant}/${source}/${span}`}>
      <header class="sub-head">
        <h2>Decisions</h2>
        <label class="inline">
          over{" "}
          <select value={chosen.value} onChange={(e) => (chosen.value = Number(e.currentTarget.value))}>
            {spans.map((s, i) => (
              <option key={s.name} value={i}>
                {s.name}
              </option>
            ))}
          </select>
        </label>
      </header>
      {fault.value !== "" && <p class="fault">{fault.value}</p>}
      {list.length > 0 && <Bars list={list} daily={span > 24 * hour} />}
      {value.value?.complete === false && (
        <p class="hint">The log is longer than one look: counted from {preciseTime(value.value.since)} on.</p>
      )}
    </div>
  );
}

const width = 600;
const height = 120;

function Bars({ list, daily }: { readonly list: readonly Bucket[]; readonly daily: boolean }) {
  const all = (b: Bucket) => kinds.reduce((n, k) => n + k.of(b), 0);
  const top = ceiling(Math.max(0, ...list.map(all)));
  const one = width / list.length;
  const time = daily ? shortDay : preciseTime;
  const sums = kinds.map((k) => ({ ...k, sum: list.reduce((n, b) => n + k.of(b), 0) }));
  return (
    <figure class="chart">
      <figcaption>
        {sums.map((k) => (
          <span key={k.name} class={`chart-now tone-${k.tone}`}>
            <span class="chart-key">{k.name}</span> {count(k.sum)}
          </span>
        ))}
      </figcaption>
      <div class="chart-plot">
        <span class="chart-top" aria-hidden="true">
          {count(top)}
        </span>
        <svg
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`Decisions: ${sums.map((k) => `${k.name} ${count(k.sum)}`).join(", ")}`}
        >
          <path class="chart-grid" d={`M0 .5H${width}M0 ${height / 2}H${width}`} />
          {list.map((b, i) => {
            let below = 0;
            return kinds.map((k) => {
              const part = (k.of(b) / top) * height;
              below += part;
              return part > 0 ? (
                <rect
                  key={`${b.at}${k.name}`}
                  class={`chart-bar tone-${k.tone}`}
                  x={i * one + 1}
                  width={one - 2}
                  y={height - below}
                  height={part}
                />
              ) : null;
            });
          })}
        </svg>
        <div class="chart-times" aria-hidden="true">
          <span>{time(list[0]!.at)}</span>
          <span>{time(list.at(-1)!.at)}</span>
        </div>
      </div>
    </figure>
  );
}
