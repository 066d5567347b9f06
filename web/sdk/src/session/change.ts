import type { Added, Change, Result, Row } from "../store/contract.ts";
import { failed } from "./broken.ts";
import { effect, emit, serverNow } from "./doing.ts";
import type { Effect, OutFrame } from "./effect.ts";
import type { Input, Stored } from "./input.ts";
import type { Machine } from "./machine.ts";
import { drop, load, type OutRow, roomOf, rowOf, scheduleOf } from "./rows.ts";
import { resubscribe } from "./view.ts";

/** Turns what the step changed into store effects: for each row one change, however often it moved. */
export function storeEffects(m: Machine): Effect[] {
  const { bind, added, touched, changes, evict } = m.doing;
  const out: Effect[] = [];
  if (bind) out.push({ kind: "bind", owner: bind });
  m.waiting = added;
  if (added.length > 0) out.push({ kind: "add", rows: added.map(newEntry) });
  m.stepped = [...touched].filter((w) => !w.gone && !w.settled && w.stored.position !== 0 && differs(w.row, w.stored));
  const all: Change[] = [...m.stepped.map(stepOf), ...changes];
  if (all.length > 0) {
    m.applied = all;
    out.push({ kind: "apply", changes: all });
  }
  if (evict) out.push({ kind: "evict", now: serverNow(m) });
  return out;
}

function newEntry({ ticket, row }: OutRow) {
  const { room, id, fingerprint, queuedAt, firstSentAt } = row;
  const state = row.state as "queued" | "sending";
  return { ticket, entry: { room, id, fingerprint, queuedAt, state, ...scheduleOf(row), firstSentAt } };
}

function differs(a: Row, b: Row): boolean {
  return (Object.keys(a) as (keyof Row)[]).some((k) => a[k] !== b[k]);
}

function stepOf({ row, stored }: OutRow): Change {
  const { position, state: to, firstSentAt, reason, asideAt } = row;
  return { kind: "step", position, revision: stored.revision, to, ...scheduleOf(row), firstSentAt, reason, asideAt };
}

/** Takes in the store's results and gives out what waited for them, without what they made void. */
export function answered(m: Machine, i: Input | undefined): Effect[] {
  m.pending = false;
  const { held } = m;
  m.held = [];
  if (i?.kind === "storeFailed") return failed(m, i, held);
  if (i?.kind !== "stored")
    throw new Error("session: a step with store effects must be followed by the store's answer");
  takeIn(m, i);
  return held.flatMap((e) => {
    if (e.kind !== "write") return e;
    const frames = stillGoing(m, e.frames);
    return frames.length > 0 ? { ...e, frames } : [];
  });
}

/** Leaves out the frames of rows that the store no longer had, and completes the others' rows. */
function stillGoing(m: Machine, frames: readonly OutFrame[]): OutFrame[] {
  return frames.flatMap((f) => {
    if (!f.row) return f;
    const w = rowOf(m, f.row);
    return w?.flight?.frame === f.n ? { ...f, row: w.row } : [];
  });
}

function takeIn(m: Machine, { added, results, evicted }: Stored): void {
  const { waiting, stepped, applied } = m;
  m.waiting = m.stepped = [];
  m.applied = [];
  waiting.forEach((w, i) => {
    addResult(m, w, added[i] as Added);
  });
  applied.forEach((c, i) => {
    const w = stepped[i];
    if (w) stepResult(m, w, results[i] as Result);
    else changeResult(m, c, results[i] as Result);
  });
  for (const row of evicted) {
    const w = rowOf(m, row);
    if (w) drop(m, w);
    m.counts.evicted++;
    emit(m, { type: "evicted", row });
  }
}

function addResult(m: Machine, w: OutRow, a: Added): void {
  effect(m, { kind: "answer", ticket: w.ticket, added: a });
  if (a.outcome === "inserted") {
    w.row = w.stored = a.row;
    return;
  }
  drop(m, w);
  if (a.outcome !== "full") m.behind = true; // a row that another tab added
}

function stepResult(m: Machine, w: OutRow, { applied, row }: Result): void {
  if (w.gone) return;
  if (applied && row) {
    w.row = w.stored = row;
    return;
  }
  // Somebody else moved the row first: what the store has is true.
  drop(m, w);
  if (row) load(m, row);
}

function changeResult(m: Machine, c: Change, res: Result): void {
  for (const row of res.conflicts) {
    const w = rowOf(m, row);
    if (!w) continue;
    w.row = w.stored = row;
    w.settled = false;
  }
  if (c.kind !== "rows" || res.applied) return;
  // The view is not the one that these rows go on from: begin again with what the store holds.
  const r = roomOf(m, c.room);
  r.view.cursor = res.cursor;
  resubscribe(m, r);
  m.behind = true;
}
