import type { Ack, ErrorFrame } from "../protocol/frames.ts";
import { maxSeq } from "../protocol/names.ts";
import type { Schedule } from "../store/contract.ts";
import { answerAsk } from "./ask.ts";
import { remaining } from "./delay.ts";
import { emit } from "./doing.ts";
import { askLater, endAttempt, type Flight, land, putBack, takeBack } from "./flight.ts";
import type { Machine } from "./machine.ts";
import { notSubscribed } from "./place.ts";
import { tooOld } from "./pump.ts";
import { change, drop, type OutRow, requeue, rowOf, scheduleOf, stepAside } from "./rows.ts";
import { actorMismatch, sessionInvalid } from "./token.ts";
import { answeredFinally, measure, slow } from "./window.ts";

/** Takes in an ack. It confirms the row in every state; the cursor doesn't move. */
export function acked(m: Machine, e: Ack): void {
  answerAsk(m, e);
  const w = rowOf(m, { room: e.room, id: e.clientMessageId });
  if (!w) return; // a second ack of one id is harmless
  if (!e.epoch || !e.messageId || e.seq < 1 || e.seq > maxSeq) {
    m.counts.garbled++;
    return;
  }
  m.counts.acks++;
  if (w.sent !== 0 && !e.duplicate) measure(m.acks, m.now.mono - w.sent);
  w.room.view.refused = 0;
  if (!w.flight) answeredFinally(m); // a late one; of a row in flight it is counted below
  confirm(m, w, e, e.duplicate);
  storeConfirm(m, w, e);
}

/** Where the server has a row. */
export type Place = Pick<Ack, "messageId" | "seq" | "epoch" | "at">;

/** Has the store delete a row and keep its message. */
export function storeConfirm(m: Machine, w: OutRow, { epoch, seq, messageId, at }: Place): void {
  m.doing.changes.push({ kind: "confirm", room: w.row.room, id: w.row.id, epoch, seq, messageId, at });
}

/** Takes a row that the server has out of the outbox. What stores that is the caller's. */
export function confirm(m: Machine, w: OutRow, { messageId, seq, epoch, at }: Place, duplicate: boolean): void {
  if (w.flight) answeredFinally(m);
  drop(m, w);
  emit(m, { type: "confirmed", key: { room: w.row.room, id: w.row.id }, messageId, seq, epoch, at, duplicate });
}

/** Takes in an error that answers a send or a question about a row. */
export function refused(m: Machine, f: Flight, e: ErrorFrame): void {
  if (f.status) return statusRefused(m, f, e);
  const w = f.row;
  takeBack(m, w);
  switch (e.code) {
    case "out_of_order":
      if (!f.ahead) return slowed(m, f, e);
      putBack(m, f);
      w.after = f.ahead;
      return;
    case "session_invalid":
      putBack(m, f);
      return sessionInvalid(m);
    case "actor_mismatch":
      putBack(m, f);
      return actorMismatch(m);
    case "not_subscribed":
      putBack(m, f);
      return notSubscribed(m, w.room);
    case "forbidden":
      settle(m, f);
      requeue(m, w, answeredSchedule(m, w));
      w.asking = "forbidden";
      w.asked = w.askAt = 0;
      return;
    case "outcome_unknown":
      settle(m, f);
      return stepAside(m, w, "uncertain", e.code);
  }
  if (isRetryable(e)) return slowed(m, f, e);
  settle(m, f);
  stepAside(m, w, "parked", e.code);
}

const again = ["unavailable", "rate_limited", "in_progress", "out_of_order", "draining"];
const never = ["too_large", "bad_request", "id_conflict", "not_found"];

/** Whether an error says "try again": by its code, or by its own word for a code unknown here. */
export function isRetryable(e: ErrorFrame): boolean {
  return again.includes(e.code) || (e.retryable && !never.includes(e.code));
}

/** Ends a flight by a final answer, which opens the way for others. */
export function settle(m: Machine, f: Flight): void {
  answeredFinally(m);
  land(m, f);
}

/**
 * A row's schedule after an answer that doesn't park it. The greatest number of attempts is kept for rows that got no answer:
 * one found with it after a crash is parked.
 */
function answeredSchedule(m: Machine, w: OutRow): Schedule {
  const s = scheduleOf(w.row);
  return { ...s, attempts: Math.min(s.attempts, m.cfg.maxAttempts - 1) };
}

/** So much of what an error says about the next try as is believed, ms. */
export function retryAfter(m: Machine, e: ErrorFrame): number {
  return Math.min(e.retryAfterMs ?? 0, m.cfg.retryAfterMax);
}

/** Takes in a retryable answer: the row waits by the delay law, the server's word a lower bound. */
function slowed(m: Machine, f: Flight, e: ErrorFrame): void {
  m.counts.retryable++;
  if (e.code !== "out_of_order") slow(m, f);
  land(m, f);
  const w = f.row;
  requeue(m, w, laterSchedule(m, w, e));
  emit(m, { type: "row", row: w.row, nextIn: remaining(w.row, m.now.wall) });
}

/** A row's schedule after a retryable answer. */
function laterSchedule(m: Machine, w: OutRow, e: ErrorFrame): Schedule {
  const s = answeredSchedule(m, w);
  const after = retryAfter(m, e);
  if (after <= remaining(s, m.now.wall)) return s;
  // As of now, not of the attempt: a clock that jumped in between would make an interval of its jump, and jump back.
  return { ...s, lastAttemptAt: m.now.wall, interval: after };
}

/** Takes in what the server says to a question about a row, other than an ack. */
function statusRefused(m: Machine, f: Flight, e: ErrorFrame): void {
  const w = f.row;
  switch (e.code) {
    case "not_found":
    case "outcome_unknown":
      return unknownToServer(m, f, e.code);
    case "session_invalid":
      putBack(m, f);
      return sessionInvalid(m);
    case "actor_mismatch":
      putBack(m, f);
      return actorMismatch(m);
  }
  m.counts.retryable++;
  slow(m, f);
  land(m, f);
  if (w.asking === "doubt" && e.code !== "in_progress" && !tooOld(m, w)) {
    return endAttempt(m, w, laterSchedule(m, w, e), false);
  }
  askLater(m, w);
  const after = retryAfter(m, e);
  if (after > 0) w.askAt = Math.max(w.askAt, m.now.mono + after);
}

/**
 * Takes in that the server holds no result of a row, or can't tell any more. That it holds none says nothing of whether it can store
 * one, so it opens no way for others.
 */
function unknownToServer(m: Machine, f: Flight, code: string): void {
  const w = f.row;
  land(m, f);
  if (code === "outcome_unknown") answeredFinally(m);
  if (w.asking === "retention" || (w.asking === "doubt" && (code === "outcome_unknown" || tooOld(m, w)))) {
    takeBack(m, w);
    stepAside(m, w, "uncertain", code);
  } else if (w.asking === "doubt") {
    endAttempt(m, w, w.row, w.lost);
  } else if (w.asking === "forbidden") {
    w.asking = undefined;
    w.lifted = false;
    change(m, w, { reason: "forbidden" });
    emit(m, { type: "row", row: w.row, nextIn: 0 });
  } // else another token came while this was asked: the row tries that first
}

/** Sets rows that wait for another token free, also those about to: refused, their status still being asked. */
export function liftHolds(m: Machine): void {
  for (const r of m.order) {
    for (const w of r.queue) {
      if (w.asking === "forbidden") {
        w.asking = undefined;
        w.lifted = true;
      }
      if (w.row.reason !== "") {
        change(m, w, { reason: "" });
        w.lifted = true;
      }
    }
    if (r.view.sub === "denied") r.view.sub = "none";
  }
}
