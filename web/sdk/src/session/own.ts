import { fingerprint } from "../protocol/canonical.ts";
import type { Content } from "../protocol/frames.ts";
import { type Arrived, reasonConflict } from "../store/contract.ts";
import { confirm, settle, storeConfirm } from "./answer.ts";
import { serverNow } from "./doing.ts";
import { takeBack } from "./flight.ts";
import type { Machine } from "./machine.ts";
import { isAside, moveAside, type OutRow, rowOf, stepAside } from "./rows.ts";

/** Whether a row is this actor's, told by an id that only its author gets. */
function isOwn(m: Machine, msg: Content): boolean {
  return msg.clientMessageId !== "" && msg.actor === m.owner?.actor;
}

/**
 * Settles the outbox row of a message that moves no view: with the same content as an ack does, with another the row is
 * parked, as its id names something else.
 */
export function own(m: Machine, msg: Content): void {
  const w = isOwn(m, msg) && rowOf(m, { room: msg.room, id: msg.clientMessageId });
  if (!w) return;
  if (w.row.fingerprint === fingerprint(msg.text, msg.data)) {
    confirm(m, w, msg, w.row.attempts > 1);
    storeConfirm(m, w, msg);
  } else if (!isAside(w.row)) {
    ground(m, w);
    stepAside(m, w, "parked", reasonConflict);
  }
}

/** Ends the flight of a row whose id names something else, and those behind it. */
function ground(m: Machine, w: OutRow): void {
  takeBack(m, w);
  if (w.flight) settle(m, w.flight);
}

/** Prepares a row of a view for the store, which settles the outbox row of its id by itself. */
export function arrived(m: Machine, msg: Content): Arrived {
  if (!isOwn(m, msg)) return { ...msg, clientMessageId: "", fingerprint: "" };
  const a = { ...msg, fingerprint: fingerprint(msg.text, msg.data) };
  const w = rowOf(m, { room: msg.room, id: msg.clientMessageId });
  if (w?.row.fingerprint === a.fingerprint) confirm(m, w, msg, w.row.attempts > 1);
  else if (w && !(w.row.state === "parked" && w.row.reason === reasonConflict)) conflicted(m, w);
  return a;
}

/** Moves a row in memory as the store will by itself. */
function conflicted(m: Machine, w: OutRow): void {
  if (!isAside(w.row)) ground(m, w);
  const was = w.row;
  w.row = { ...was, state: "parked", reason: reasonConflict, asideAt: serverNow(m) };
  w.settled = true;
  moveAside(m, w, was);
}
