/**
 * A room that is only sent to is subscribed by `live: false` (docs/spec/client.md, 3, "Subscriptions for sending"): no rows, and
 * no answer is waited for. Machine.places has those of this connection, the one sent to the longest time ago first.
 */

import type { ErrorFrame } from "../protocol/frames.ts";
import { delay } from "./delay.ts";
import { command, emit, ref } from "./doing.ts";
import type { Machine } from "./machine.ts";
import { prune, type RoomState } from "./rows.ts";
import { actorMismatch, sessionInvalid } from "./token.ts";
import { isWanted, subscribeLater, type View } from "./view.ts";

/** The name by which a server announces `live: false`. */
const featureLive = "subscribe.live";

const has = (m: Machine): boolean => m.link.features.includes(featureLive);

/** Whether a send would be refused for want of a subscription, or is put off after it was. */
export function blocksSends(m: Machine, v: View): boolean {
  if (!has(m)) return isWanted(v) && !v.ready && v.sub !== "denied";
  if (m.now.mono < v.placeAt) return true;
  return v.sub === "asked" && !v.ready && v.placed === ""; // its answer, an instant away, subscribes the room
}

/** Subscribes a room for the send that follows in the same write, unless it is subscribed. */
export function takePlace(m: Machine, r: RoomState): void {
  const v = r.view;
  if (v.ready || !has(m)) return;
  if (v.placed !== "") {
    m.places.delete(r);
    m.places.add(r); // the one sent to last
    return;
  }
  if (m.places.size >= Math.max(1, m.limits.sendRooms)) letGo(m);
  v.placed = ref(m, "w");
  m.places.add(r);
  command(m, { type: "subscribe", ref: v.placed, room: r.name, live: false });
}

/** Gives back the place of the room least recently sent to. One whose live rows are asked for at the moment would lose those. */
function letGo(m: Machine): void {
  for (const r of m.places) {
    if (r.view.sub === "asked") continue;
    leavePlace(m, r);
    command(m, { type: "unsubscribe", ref: ref(m, "u"), room: r.name });
    return prune(m, r);
  }
}

/** Forgets that a room is subscribed for sending. */
export function leavePlace(m: Machine, r: RoomState): void {
  m.places.delete(r);
  r.view.placed = "";
}

/** Takes in that a room can't be subscribed for sending. What the send behind it is answered says the rest. */
export function placeRefused(m: Machine, e: ErrorFrame): void {
  for (const r of m.places) {
    if (r.view.placed !== e.ref) continue;
    leavePlace(m, r);
    if (e.code === "session_invalid") return sessionInvalid(m);
    if (e.code === "actor_mismatch") return actorMismatch(m);
    if (e.code !== "forbidden") sendLater(m, r, e.code, e.retryAfterMs ?? 0, 1);
    return;
  }
}

/** Puts off a room's sends by the delay law, from so many refusals in a row on, and tells the app of a second one. */
function sendLater(m: Machine, r: RoomState, reason: string, after: number, from: number): void {
  const v = r.view;
  v.refused++;
  if (v.refused < from) return;
  const d = delay(m.cfg.base, m.cfg.rowCap, v.refused - from + 1, m.cfg.rand());
  v.placeAt = m.now.mono + Math.max(d, Math.min(after, m.cfg.retryAfterMax));
  if (v.refused > 1) emit(m, { type: "denied", room: r.name, reason, retryIn: v.placeAt - m.now.mono });
}

/** Takes in that the server wants a subscription for a send. */
export function notSubscribed(m: Machine, r: RoomState): void {
  const v = r.view;
  if (!has(m)) return needSubscription(m, r);
  if (v.placed === "" && !v.ready) return; // of a send behind a subscribe whose refusal was taken in
  leavePlace(m, r);
  v.ready = false;
  if (v.sub === "live") {
    v.sub = "none";
    v.at = m.now.mono;
  }
  sendLater(m, r, "not_subscribed", 0, 2);
}

/**
 * Subscribes a room as a server wants that knows no subscription for sending. Where one was refused before, it is asked for again
 * only after a delay, and so where one was granted and sends are refused all the same: two answers don't chase each other.
 */
function needSubscription(m: Machine, r: RoomState): void {
  const v = r.view;
  v.sending = true;
  if (v.sub === "live") {
    v.sub = "none";
    v.ready = false;
    sendLater(m, r, "not_subscribed", 0, 2);
    v.at = Math.max(m.now.mono, v.placeAt);
  } else if (v.sub === "denied") {
    subscribeLater(m, r, 0);
    if (v.tries > 1) {
      emit(m, { type: "denied", room: r.name, reason: "not_subscribed", retryIn: v.at - m.now.mono });
    }
  }
}
