import { useSignal } from "@preact/signals";
import { ceiling } from "./ceiling.ts";

/** One line of a chart: a value for each point of time, undefined where there was none. */
export interface Line {
  readonly name: string;
  readonly tone: "a" | "b" | "c";
  readonly values: readonly (number | undefined)[];
}

export interface ChartProps {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly format: (n: number) => string;
  /** The times of the points, ms. */
  readonly times: readonly number[];
  readonly time: (ms: number) => string;
}

const width = 600;
const height = 120;

/** A line chart in plain SVG: its axis begins at 0, so that heights can be compared. */
export function Chart({ title, lines, format, times, time }: ChartProps) {
  const at = useSignal<number | undefined>(undefined);
  const points = times.length;
  const all = lines.flatMap((l) => l.values.filter((v) => v !== undefined));
  const top = ceiling(Math.max(0, ...all));
  const x = (i: number) => (points < 2 ? width : (i / (points - 1)) * width);
  const y = (v: number) => height - (v / top) * height;
  const shown = at.value === undefined ? points - 1 : Math.min(at.value, points - 1);
  const pick = (e: PointerEvent) => {
    const box = (e.currentTarget as Element).getBoundingClientRect();
    at.value = Math.round(((e.clientX - box.left) / box.width) * (points - 1));
  };
  const value = (l: Line, i: number) => {
    const v = l.values[i];
    return v === undefined ? "–" : format(v);
  };
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{title}</span>
        {lines.map((l) => (
          <span key={l.name} class={`chart-now tone-${l.tone}`}>
            {lines.length > 1 && <span class="chart-key">{l.name}</span>} {value(l, shown)}
          </span>
        ))}
      </figcaption>
      <div class="chart-plot">
        <span class="chart-top" aria-hidden="true">
          {all.length > 0 && format(top)}
        </span>
        <svg
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}: ${lines.map((l) => `${l.name} ${value(l, points - 1)}, at most ${most(l, format)}`).join("; ")}`}
          onPointerMove={pick}
          onPointerLeave={() => (at.value = undefined)}
        >
          <path class="chart-grid" d={`M0 .5H${width}M0 ${height / 2}H${width}`} />
          {lines.map((l, n) => (
            <g key={l.name} class={`tone-${l.tone}`}>
              {n === 0 && <path class="chart-area" d={area(l.values, x, y)} />}
              <path class="chart-line" d={path(l.values, x, y)} />
            </g>
          ))}
          {at.value !== undefined && <path class="chart-cursor" d={`M${x(shown)} 0V${height}`} />}
        </svg>
        <div class="chart-times" aria-hidden="true">
          <span>{points > 0 ? time(times[0]!) : ""}</span>
          <span>{points > 0 ? time(times[at.value === undefined ? points - 1 : shown]!) : ""}</span>
        </div>
      </div>
    </figure>
  );
}

const most = (l: Line, format: (n: number) => string) => {
  const values = l.values.filter((v) => v !== undefined);
  return values.length === 0 ? "–" : format(Math.max(...values));
};

type Scale = (n: number) => number;

function path(values: Line["values"], x: Scale, y: Scale): string {
  let d = "";
  let pen = "M";
  values.forEach((v, i) => {
    if (v === undefined) {
      pen = "M";
      return;
    }
    d += `${pen}${x(i).toFixed(1)} ${y(v).toFixed(1)}`;
    pen = "L";
  });
  return d;
}

function area(values: Line["values"], x: Scale, y: Scale): string {
  if (values.length < 2) return "";
  return `M${x(0)} ${height}${values.map((v, i) => `L${x(i).toFixed(1)} ${y(v ?? 0).toFixed(1)}`).join("")}L${x(values.length - 1)} ${height}Z`;
}
