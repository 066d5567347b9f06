import type { Schedule } from "../store/contract.ts";
import { hurry } from "./connect.ts";
import { delay, remaining } from "./delay.ts";
import { command, emit, ref, serverNow } from "./doing.ts";
import type { Machine } from "./machine.ts";
import { takePlace } from "./place.ts";
import { isSending, tooOld } from "./pump.ts";
import { behind, change, type OutRow, reasonAttempts, requeue, scheduleOf, stepAside } from "./rows.ts";
import { overdue, slow, times4 } from "./window.ts";

/** Flight is a frame about a row that waits for its answer. */
export interface Flight {
  readonly ref: string;
  readonly row: OutRow;
  /** A question, not a send. */
  readonly status: boolean;
  /** Its number on the connection. */
  frame: number;
  /** As before this attempt, for an outcome that is none. */
  readonly prev: Schedule;
  /** The row that it follows. */
  readonly ahead: OutRow | undefined;
  /** mono: no answer by then is none; 0 until the frame is written. */
  by: number;
  /** The row was never sent before. */
  readonly first: boolean;
}

/** Sends a row. Its attempt is stored before the frame leaves, as of this moment. */
export function fly(m: Machine, w: OutRow): void {
  const ahead = nearestAhead(w);
  const first = w.row.firstSentAt === 0;
  const f: Flight = { ref: ref(m, "s"), row: w, prev: scheduleOf(w.row), status: false, frame: 0, ahead, by: 0, first };
  const attempts = Math.min(w.row.attempts + 1, m.cfg.maxAttempts);
  const interval = delay(m.cfg.base, m.cfg.rowCap, attempts, m.cfg.rand());
  const firstSentAt = w.row.firstSentAt || serverNow(m);
  change(m, w, { state: "sending", attempts, interval, lastAttemptAt: m.now.wall, firstSentAt });
  w.lifted = false;
  w.after = undefined;
  w.here = true;
  w.sent = 0;
  takePlace(m, w.room);
  m.counts.sends++;
  const { room, id } = w.row;
  const base = { type: "send", ref: f.ref, room, clientMessageId: id, text: "", sentAt: firstSentAt } as const;
  launch(m, f, ahead ? { ...base, follows: ahead.row.id } : base);
}

/** Asks for a row's status. */
export function question(m: Machine, w: OutRow): void {
  const f: Flight = {
    ref: ref(m, "q"),
    row: w,
    prev: scheduleOf(w.row),
    status: true,
    frame: 0,
    ahead: undefined,
    by: 0,
    first: false,
  };
  const { room, id, firstSentAt } = w.row;
  launch(m, f, { type: "status", ref: f.ref, room, clientMessageId: id, sentAt: firstSentAt || undefined });
}

function launch(m: Machine, f: Flight, c: Parameters<typeof command>[1]): void {
  f.row.flight = f;
  f.row.room.flying++;
  f.frame = command(m, c, f.row.row);
  m.flights.push(f);
}

/** The nearest row before w in its room that is in flight. */
function nearestAhead(w: OutRow): OutRow | undefined {
  let near: OutRow | undefined;
  for (const o of w.room.queue) {
    if (o === w) break;
    if (o.flight && !o.flight.status) near = o;
  }
  return near;
}

/** Ends a flight, whatever its outcome. */
export function land(m: Machine, f: Flight): void {
  m.flights = m.flights.filter((o) => o !== f);
  f.row.flight = undefined;
  f.row.room.flying--;
}

/** Ends a flight whose outcome is no attempt. */
export function putBack(m: Machine, f: Flight): void {
  land(m, f);
  if (!f.status) requeue(m, f.row, f.prev);
}

/** Puts the rows in flight behind w back without an attempt: the server refuses them for what became of w. */
export function takeBack(m: Machine, w: OutRow): void {
  for (const f of behind(w)) putBack(m, f);
}

/** Ends the flights whose answer is overdue. The row is in doubt then: its status is asked, which is no attempt. */
export function timeOut(m: Machine): void {
  for (const f of [...m.flights]) {
    if (f.by === 0 || m.now.mono < f.by || f.row.flight !== f) continue;
    if (f.status && m.link.doubt) continue; // where the connection may be dead that shows soon, and what becomes of the row with it
    m.counts.timedOut++;
    overdue(m.acks);
    slow(m, f);
    hurry(m);
    m.link.doubt = m.link.phase === "up";
    land(m, f);
    const w = f.row;
    if (!f.status) {
      w.asking = "doubt";
      w.asked = w.askAt = 0;
      if (isSending(m)) question(m, w); // at once, in the frame's place: no more is in flight than was
    } else if (w.asking === "doubt" && !tooOld(m, w)) {
      endAttempt(m, w, w.row, false);
    } else {
      askLater(m, w);
    }
  }
}

/** Ends the doubt about a row: as far as anybody can tell the server doesn't have it. */
export function endAttempt(m: Machine, w: OutRow, s: Schedule, now: boolean): void {
  takeBack(m, w); // before it may step aside, which would hide who stood behind it
  w.asking = undefined;
  w.lost = false;
  requeue(m, w, s);
  if (w.row.attempts >= m.cfg.maxAttempts) return stepAside(m, w, "parked", reasonAttempts);
  w.lifted ||= now;
  emit(m, { type: "row", row: w.row, nextIn: w.lifted ? 0 : remaining(w.row, m.now.wall) });
}

/** Starts the clock of the frames that are out. */
export function wrote(m: Machine, n: number): void {
  const { answerLeast, answerWithin } = m.cfg;
  for (const f of m.flights) {
    if (f.by !== 0 || f.frame > n) continue;
    f.by = m.now.mono + times4(m.acks, Math.min(answerLeast, answerWithin), answerWithin);
    if (f.first) f.row.sent = m.now.mono;
  }
}

/**
 * Ends all flights of a connection. Frames up to `written` may have reached the server: what became of those rows is asked first on
 * the next one.
 */
export function connectionLost(m: Machine, written: number): void {
  for (const f of [...m.flights]) {
    if (m.link.draining || f.frame > written) {
      putBack(m, f);
    } else {
      land(m, f);
      if (!f.status) f.row.asking = "doubt";
    }
  }
  for (const r of m.order) {
    for (const w of r.queue) {
      if (w.asking !== "doubt") continue;
      w.asked = w.askAt = w.sent = 0;
      w.lost = w.here;
      if (w.row.state !== "sending") continue;
      requeue(m, w, w.row);
      emit(m, { type: "row", row: w.row, nextIn: remaining(w.row, m.now.wall) });
    }
  }
}

/** Puts a row's question off by the delay law. It is no attempt of the row. */
export function askLater(m: Machine, w: OutRow): void {
  w.asked++;
  w.askAt = m.now.mono + delay(m.cfg.base, m.cfg.rowCap, w.asked, m.cfg.rand());
}
