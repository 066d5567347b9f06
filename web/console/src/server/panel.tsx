import { useEffect } from "preact/hooks";
import { bytes, count, lasted, many, preciseTime, took } from "../core/text.ts";
import { Chart } from "./chart.tsx";
import { type Figures, fault, rates, readings, watchFigures } from "./figures.ts";
import { percentile } from "./percentile.ts";

/** What the server does now, from its own counters. */
export function ServerPanel() {
  useEffect(() => watchFigures(), []);
  const list = readings.value;
  const now = list.at(-1);
  return (
    <section class="panel" aria-labelledby="server-title">
      <header class="panel-head">
        <h1 id="server-title" tabIndex={-1}>
          Server
        </h1>
        {now && (
          <p class="muted">
            up {lasted(now.at - now.started)}, epoch <code>{now.epoch}</code>
          </p>
        )}
      </header>
      {fault.value !== "" && <p class="fault">{fault.value}</p>}
      {now && <Tiles now={now} />}
      {now && <Charts list={list} />}
      {now && <Outcomes now={now} />}
    </section>
  );
}

function Tiles({ now }: { readonly now: Figures }) {
  return (
    <dl class="tiles">
      <Tile name="Stored" value={count(now.sends.accepted ?? 0)} note="messages since the start" />
      <Tile name="Repeats" value={count(now.sends.duplicate ?? 0)} note="answered with the first result" />
      <Tile name="Resumes" value={count(now.resumes.fits ?? 0)} note="went on from their cursor" />
      <Tile name="Connections" value={count(now.connections)} note={many(now.subscriptions, "subscription")} />
      <Tile
        name="Store"
        value={bytes(now.store.bytes)}
        note={`${many(now.store.messages, "message")}, ${many(now.store.rooms, "room")}`}
      />
      <Tile
        name="Commit"
        value={seconds(percentile(now.commitSeconds, undefined, 0.99))}
        note="the slowest of a hundred, since the start"
      />
    </dl>
  );
}

function Tile({ name, value, note }: { readonly name: string; readonly value: string; readonly note: string }) {
  return (
    <div class="tile">
      <dt>{name}</dt>
      <dd>
        <b>{value}</b>
        <span>{note}</span>
      </dd>
    </div>
  );
}

function Charts({ list }: { readonly list: readonly Figures[] }) {
  const times = list.slice(1).map((f) => f.at);
  const between = (q: number) => list.slice(1).map((f, i) => percentile(f.commitSeconds, list[i]!.commitSeconds, q));
  const rate = (of: (f: Figures) => number) => rates(list, of);
  const shared = { times, time: preciseTime };
  return (
    <div class="charts">
      <Chart
        {...shared}
        title="Sends a second"
        format={count}
        lines={[
          { name: "stored", tone: "a", values: rate((f) => f.sends.accepted ?? 0) },
          { name: "repeats", tone: "b", values: rate((f) => f.sends.duplicate ?? 0) },
        ]}
      />
      <Chart
        {...shared}
        title="Commit time"
        format={took}
        lines={[
          { name: "p50", tone: "a", values: between(0.5) },
          { name: "p99", tone: "b", values: between(0.99) },
        ]}
      />
      <Chart
        {...shared}
        title="Resumes a second"
        format={count}
        lines={[
          { name: "delta", tone: "a", values: rate((f) => f.resumes.fits ?? 0) },
          { name: "snapshot", tone: "b", values: rate(snapshots) },
        ]}
      />
      <Chart
        {...shared}
        title="Connections"
        format={count}
        lines={[{ name: "open", tone: "a", values: list.slice(1).map((f) => f.connections) }]}
      />
      <Chart
        {...shared}
        title="Deliveries a second"
        format={count}
        lines={[{ name: "rows", tone: "a", values: rate((f) => f.delivered) }]}
      />
      <Chart
        {...shared}
        title="Store"
        format={bytes}
        lines={[{ name: "on disk", tone: "a", values: list.slice(1).map((f) => f.store.bytes) }]}
      />
    </div>
  );
}

const snapshots = (f: Figures) =>
  Object.entries(f.resumes).reduce((n, [name, value]) => (name === "fits" ? n : n + value), 0);

function Outcomes({ now }: { readonly now: Figures }) {
  const counted = Object.entries(now.sends).filter(([, n]) => n > 0);
  return (
    <div class="columns">
      <Table title="Sends by outcome" rows={counted} empty="None yet." />
      <Table
        title="Subscribes by their cursor"
        rows={Object.entries(now.resumes).filter(([, n]) => n > 0)}
        empty="None yet."
        note={now.cursorAlarms > 0 ? `${count(now.cursorAlarms)} cursors could not have been right` : ""}
      />
    </div>
  );
}

interface TableProps {
  readonly title: string;
  readonly rows: readonly (readonly [string, number])[];
  readonly empty: string;
  readonly note?: string;
}

function Table({ title, rows, empty, note }: TableProps) {
  return (
    <div>
      <h2>{title}</h2>
      {rows.length === 0 ? (
        <p class="muted">{empty}</p>
      ) : (
        <table class="plain">
          <tbody>
            {rows.map(([name, n]) => (
              <tr key={name}>
                <th scope="row">{name.replaceAll("_", " ")}</th>
                <td class="number">{count(n)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {note && <p class="fault">{note}</p>}
    </div>
  );
}

const seconds = (s: number | undefined) => (s === undefined ? "–" : took(s));
