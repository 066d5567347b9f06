import type { ErrorFrame, ServerFrame } from "../protocol/frames.ts";
import { acked, refused, retryAfter } from "./answer.ts";
import { answerAsk, page } from "./ask.ts";
import { pong } from "./connect.ts";
import { delta, live } from "./gap.ts";
import type { Machine } from "./machine.ts";
import { placeRefused } from "./place.ts";
import { rowOf } from "./rows.ts";
import { actorMismatch, sessionInvalid } from "./token.ts";
import { snapshot, subscribeRefused, unsubscribed } from "./view.ts";
import { helloRefused, welcome } from "./welcome.ts";

/** Takes in a frame. Before the welcome only that or an error counts; frames of unknown type move nothing. */
export function received(m: Machine, e: ServerFrame): void {
  if (e.type === "welcome") return welcome(m, e);
  if (e.type === "error") return failed(m, e);
  if (m.link.phase !== "up") return;
  switch (e.type) {
    case "ack":
      return acked(m, e);
    case "message":
      return live(m, e.message);
    case "snapshot":
      return snapshot(m, e);
    case "delta":
      return delta(m, e);
    case "page":
      return page(m, e);
    case "pong":
      return pong(m, e);
    case "unsubscribed":
      return unsubscribed(m, e);
  }
}

/** Finds out what an error answers. The first letter of a ref says which of the commands it was. */
function failed(m: Machine, e: ErrorFrame): void {
  switch (e.ref?.[0]) {
    case undefined:
      return failedUnnamed(m, e);
    case "p":
    case "u":
      return e.code === "session_invalid" ? sessionInvalid(m) : undefined;
    case "h":
      return e.ref === m.link.hello ? helloRefused(m, e) : undefined;
    case "s":
    case "q": {
      const f = m.flights.find((f) => f.ref === e.ref);
      if (!f) return;
      return refused(m, f, e);
    }
    case "v":
      return subscribeRefused(m, e);
    case "w":
      return placeRefused(m, e);
    case "a":
      return answerAsk(m, e);
  }
}

/** Takes in an error without a ref: about a row if it names one, else about the connection. */
function failedUnnamed(m: Machine, e: ErrorFrame): void {
  if (e.clientMessageId) {
    const f = rowOf(m, { room: e.room ?? "", id: e.clientMessageId })?.flight;
    return f && refused(m, f, e);
  }
  const l = m.link;
  l.comeBack = Math.max(l.comeBack, retryAfter(m, e));
  if (l.phase === "greeting") return helloRefused(m, e);
  switch (e.code) {
    case "draining":
      if (l.draining) return;
      l.draining = true;
      l.at = m.now.mono + m.cfg.answerWithin;
      return;
    case "session_invalid":
      return sessionInvalid(m);
    case "actor_mismatch":
      return actorMismatch(m);
  }
}
