import type { Row } from "../store/contract.ts";
import { effect } from "./doing.ts";
import { putBack, takeBack } from "./flight.ts";
import type { Send, Unreadable } from "./input.ts";
import type { Machine } from "./machine.ts";
import { drop, isAside, load, mend, newRow, rowOf, stepAside } from "./rows.ts";

/** Takes in a new row. Where nothing stands before it, it leaves in this very step, stored with its attempt at once. */
export function send(m: Machine, { key, fingerprint, ticket, size }: Send): void {
  const have = rowOf(m, key);
  if (have) {
    const outcome = have.row.fingerprint === fingerprint ? "same" : "conflict";
    return effect(m, { kind: "answer", ticket, added: { outcome, row: have.row } });
  }
  const row: Row = {
    ...{ ...key, fingerprint, size, queuedAt: m.now.wall, state: "queued", position: 0, revision: 0 },
    ...{ attempts: 0, interval: 0, lastAttemptAt: 0, firstSentAt: 0, reason: "", asideAt: 0 },
  };
  m.doing.added.push(newRow(m, row, row, ticket));
}

/** Takes in how the store has a row now. One in flight goes on as it is: its next change will tell. */
export function rowIs(m: Machine, s: Row): void {
  const w = rowOf(m, s);
  if (w) {
    const { position, revision } = w.stored;
    if (position === 0 || (revision >= s.revision && position === s.position)) return;
    if (w.flight && s.state === "sending") return;
    if (w.flight) putBack(m, w.flight);
    drop(m, w);
  }
  load(m, s);
}

/** Takes in that a row was removed by the app's word. */
export function rowGone(m: Machine, r: Row): void {
  const w = rowOf(m, r);
  if (w?.stored.position === r.position) drop(m, w);
}

/** Takes in a complete reading of the store's rows. */
export function reread(m: Machine, rows: readonly Row[]): void {
  const there = new Set<number>();
  for (const s of rows) {
    there.add(s.position);
    rowIs(m, s);
  }
  for (const r of [...m.order]) {
    for (const w of [...r.rows.values()]) {
      if (w.stored.position !== 0 && !there.has(w.stored.position)) drop(m, w);
    }
  }
}

/** Lifts the waiting times of one room. Attempts, holds and the window stay. */
export function tryNow(m: Machine, room: string): void {
  const r = m.rooms.get(room);
  if (!r) return;
  for (const w of r.queue) {
    w.lifted = true;
    w.askAt = 0;
  }
  r.view.at = Math.min(r.view.at, m.now.mono);
}

/** Parks a row whose body can't be read. Its frame was not written. */
export function unreadable(m: Machine, { key, reason }: Unreadable): void {
  const w = rowOf(m, key);
  if (!w || isAside(w.row)) return;
  if (w.flight) {
    takeBack(m, w);
    putBack(m, w.flight);
  }
  stepAside(m, w, "parked", reason);
}

/** Mends the rows whose last attempt lies in the future, after the clock went back or at the start. */
export function mendAll(m: Machine): void {
  for (const r of m.order) for (const w of r.queue) if (!w.flight && w.stored.position !== 0) mend(m, w);
}
