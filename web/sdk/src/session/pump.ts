import { remaining } from "./delay.ts";
import { serverNow } from "./doing.ts";
import { type Flight, fly, question } from "./flight.ts";
import type { Machine } from "./machine.ts";
import { allows, spend, startPace } from "./pace.ts";
import { type OutRow, type RoomState, reasonAttempts, stepAside } from "./rows.ts";
import { blocksSends } from "./view.ts";

/**
 * Gate lets one row go first after a start or a reconnect. A final answer to it opens the way for the rest; after any other
 * the next room's row goes first.
 */
export interface Gate {
  open: boolean;
  /** The row that goes first, while its answer is out. */
  probe: Flight | undefined;
  /** The room of the last release; the next is the one after it by name, round and round. */
  turn: string;
}

/** Takes in that a flight ended without a final answer. */
export function closed(m: Machine, f: Flight): void {
  if (m.gate.probe === f) m.gate.probe = undefined;
}

/** Ends the wait for the row that went first, by a final answer to it. The rest starts at the first pace. */
export function opened(m: Machine, f: Flight): void {
  if (m.gate.probe !== f) return;
  m.gate.probe = undefined;
  m.gate.open = true;
  m.pace = startPace(m.cfg.paceStart, m.now.mono, m.pace.backlog);
}

/**
 * Releases what may go now. It is called after each input, so that a fresh row with nothing waiting goes at once; rows that
 * are due together form a backlog, and a backlog goes by the pace.
 */
export function pump(m: Machine): void {
  if (!isSending(m)) return;
  for (let first = true; ; first = false) {
    const { row: w, full } = pick(m);
    if (!w) {
      m.pace.backlog = full;
      return;
    }
    const held = m.pace.backlog || !first;
    if ((!m.gate.open && m.gate.probe) || (held && !allows(m.pace, m.now.mono))) {
      m.pace.backlog = true;
      return;
    }
    spend(m.pace, m.now.mono, held);
    m.gate.turn = w.room.name;
    if (w.asking) question(m, w);
    else fly(m, w);
  }
}

/** Whether rows may leave. */
export function isSending(m: Machine): boolean {
  return m.broken === undefined && m.link.phase === "up" && !m.link.paused && !m.link.draining;
}

/**
 * The row that goes next: the first of its room, rooms in turn. Where none may go, `full` tells that some row only waits for
 * one in flight to make room.
 */
function pick(m: Machine): { row?: OutRow; full: boolean } {
  const allFull = m.flights.length >= m.cfg.flights;
  let full = false;
  const from = Math.max(
    0,
    m.order.findIndex((r) => r.name > m.gate.turn),
  );
  for (let i = 0; i < m.order.length; i++) {
    const r = m.order[(from + i) % m.order.length] as RoomState;
    const row = r.queue.length === r.flying ? undefined : candidate(m, r);
    if (!row) continue;
    if (!allFull && r.flying < m.cfg.roomFlights) return { row, full: false };
    full = true;
  }
  return { full };
}

/** The row of a room that may go now, the bounds of what is in flight aside. */
function candidate(m: Machine, r: RoomState): OutRow | undefined {
  if (blocksSends(r.view)) return undefined;
  while (r.holders === 0) {
    const w = next(r);
    if (!w || !mayGo(m, w)) return undefined;
    if (w.asking || w.row.attempts < m.cfg.maxAttempts) return w;
    // Found at its last attempt after a crash: whether that was answered is unknown.
    stepAside(m, w, "parked", reasonAttempts);
  }
  return undefined;
}

/**
 * The first row of the room that isn't in flight. There is none behind a question: what its answer means for those rows must
 * be known first.
 */
export function next(r: RoomState): OutRow | undefined {
  for (const w of r.queue) {
    if (!w.flight) return w;
    if (w.flight.status) return undefined;
  }
  return undefined;
}

/** Whether a room's next row may go now. If not, it holds back those behind it. */
function mayGo(m: Machine, w: OutRow): boolean {
  if (w.row.reason !== "" || w.after?.flight) return false; // held, or waiting for the answer to the row it followed
  if (!w.asking && tooOld(m, w)) w.asking = "retention";
  if (w.asking) return m.now.mono >= w.askAt && w.room.flying === 0;
  return w.lifted || remaining(w.row, m.now.wall) === 0;
}

/** Whether the server may have dropped the result of the row, so that sending it could store it twice. */
function tooOld(m: Machine, w: OutRow): boolean {
  return w.row.firstSentAt !== 0 && serverNow(m) - w.row.firstSentAt > m.link.retention;
}
