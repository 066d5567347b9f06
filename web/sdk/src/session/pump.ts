import { remaining } from "./delay.ts";
import { serverNow } from "./doing.ts";
import { fly, question } from "./flight.ts";
import type { Machine } from "./machine.ts";
import { blocksSends } from "./place.ts";
import { type OutRow, type RoomState, reasonAttempts, stepAside } from "./rows.ts";

/**
 * Releases what may go now, as far as the window reaches. It is called after each input, so that a fresh row with nothing before it
 * goes at once. What waited is held back longer where the server says "later" to every row that goes first.
 */
export function pump(m: Machine): void {
  while (isSending(m) && !m.link.doubt && m.flights.length < m.window.size) {
    const w = pick(m);
    if (!w) return;
    m.turn = w.room.name;
    if (w.asking) question(m, w);
    else fly(m, w);
  }
}

/** Whether rows may leave. */
export function isSending(m: Machine): boolean {
  return m.broken === undefined && m.link.phase === "up" && !m.link.paused && !m.link.draining;
}

/** The row that goes next: the first of its room, rooms in turn. */
function pick(m: Machine): OutRow | undefined {
  const from = Math.max(
    0,
    m.order.findIndex((r) => r.name > m.turn),
  );
  for (let i = 0; i < m.order.length; i++) {
    const r = m.order[(from + i) % m.order.length] as RoomState;
    if (r.queue.length === r.flying || r.flying >= m.cfg.roomFlights) continue;
    const row = candidate(m, r);
    if (row) return row;
  }
  return undefined;
}

/** The row of a room that may go now, the bounds of what is in flight aside. */
function candidate(m: Machine, r: RoomState): OutRow | undefined {
  while (r.holders === 0) {
    const w = next(r);
    if (!w || (m.now.mono < m.window.until && w.stored.position !== 0) || !mayGo(m, w)) return undefined;
    if (w.asking) return w;
    if (blocksSends(m, r.view)) return undefined;
    if (w.row.attempts < m.cfg.maxAttempts) return w;
    // Found at its last attempt after a crash: whether that was answered is unknown.
    stepAside(m, w, "parked", reasonAttempts);
  }
  return undefined;
}

/**
 * The first row of the room that isn't in flight. Behind a question there is none but another row in doubt: what the answer means
 * for those rows must be known first.
 */
export function next(r: RoomState): OutRow | undefined {
  let asked = false;
  for (const w of r.queue) {
    if (!w.flight) return asked && w.asking !== "doubt" ? undefined : w;
    if (!w.flight.status) continue;
    if (w.asking !== "doubt") return undefined;
    asked = true;
  }
  return undefined;
}

/** Whether a room's next row may go now. If not, it holds back those behind it. */
function mayGo(m: Machine, w: OutRow): boolean {
  if (w.asking === "doubt") return m.now.mono >= w.askAt;
  if (w.row.reason !== "" || w.after?.flight) return false; // held, or waiting for the answer to the row it followed
  if (!w.asking && tooOld(m, w)) w.asking = "retention";
  if (w.asking) return m.now.mono >= w.askAt && w.room.flying === 0;
  return w.lifted || remaining(w.row, m.now.wall) === 0;
}

/** Whether the server may have dropped the result of the row, so that sending it could store it twice. */
export function tooOld(m: Machine, w: OutRow): boolean {
  return w.row.firstSentAt !== 0 && serverNow(m) - w.row.firstSentAt > m.link.retention;
}
