import type { Content, ErrorFrame, SnapshotFrame, Unsubscribed } from "../protocol/frames.ts";
import type { Cursor } from "../store/contract.ts";
import { isRetryable } from "./answer.ts";
import { owns } from "./ask.ts";
import { delay } from "./delay.ts";
import { command, emit, ref, serverNow } from "./doing.ts";
import { drain } from "./gap.ts";
import type { Machine } from "./machine.ts";
import { arrived } from "./own.ts";
import { leavePlace } from "./place.ts";
import { isSending } from "./pump.ts";
import { prune, type RoomState, roomOf } from "./rows.ts";
import { actorMismatch, sessionInvalid } from "./token.ts";

/**
 * Where a room's subscription stands on this connection.
 *
 * - `none`: to be asked for, where it is wanted
 * - `asked`: its answer is out, or a page has more behind it
 * - `live`: live rows come
 * - `denied`: refused: not asked for again before another token
 */
export type Subscription = "none" | "asked" | "live" | "denied";

/** View is a room as this client sees it. */
export interface View {
  /** The app wants its rows. */
  want: boolean;
  /** The server wants a subscription for a send, and knows none for sending only. */
  sending: boolean;
  /** Rows of a snapshot, undefined for the server's own number. */
  limit: number | undefined;
  cursor: Cursor | undefined;

  sub: Subscription;
  ref: string;
  /** mono: the answer is overdue. */
  by: number;
  /** mono: not asked for before. */
  at: number;
  tries: number;
  /** A first page came on this connection: for sends the room counts as subscribed. */
  ready: boolean;
  /** mono: when it was asked for. */
  asked: number;
  /** The number of that command. */
  frame: number;
  /** How much the answer may weigh, where an earlier one was cut; 0 for the most. */
  bytes: number;

  /** The ref of the subscribe by which it takes sends on this connection, "" where none does: it is in Machine.places. */
  placed: string;
  /** mono: not subscribed for sending before. */
  placeAt: number;
  /** Times in a row that sending was refused. */
  refused: number;

  /** Live rows ahead of a gap, by seq. */
  ahead: Content[];
  /** mono: they wait no longer. */
  aheadBy: number;

  /** The step whose changes hold, at rowsAt, Rows of this room. */
  rowsIn: number;
  rowsAt: number;
}

/** A view of nothing. */
export function newView(): View {
  return {
    ...{ want: false, sending: false, limit: undefined, cursor: undefined, sub: "none", ref: "", by: 0, at: 0 },
    ...{ tries: 0, ready: false, asked: 0, frame: 0, bytes: 0, placed: "", placeAt: 0, refused: 0 },
    ...{ ahead: [], aheadBy: 0, rowsIn: 0, rowsAt: 0 },
  };
}

/** Whether the room is to be subscribed. */
export function isWanted(v: View): boolean {
  return v.want || v.sending;
}

/** Whether its rows are stored: what was subscribed for sending alone moves no view. */
export function isKept(v: View): boolean {
  return v.want;
}

export function subscribe(m: Machine, room: string, limit: number | undefined): void {
  const v = roomOf(m, room).view;
  // it was for sends only, or the app asks anew
  if (!v.want || v.sub === "denied") {
    v.sub = "none";
    v.ref = "";
    v.at = 0;
  }
  v.want = true;
  v.limit = limit;
}

export function unsubscribe(m: Machine, room: string): void {
  const v = m.rooms.get(room)?.view;
  if (!v) return;
  if (m.link.phase === "up" && (v.sub === "asked" || v.sub === "live")) {
    command(m, { type: "unsubscribe", ref: ref(m, "u"), room });
  }
  v.want = v.sending = false;
  resetView(v);
}

/** Forgets what held for one connection. */
export function resetView(v: View): void {
  if (v.sub !== "denied") v.sub = "none";
  v.ref = "";
  v.ready = false;
  v.ahead = [];
  v.aheadBy = v.by = v.at = v.tries = 0;
}

/** Forgets what held for a connection that is lost. An answer that was under way with it may have been too long. */
export function dropViews(m: Machine, written: number): void {
  for (const r of [...m.order]) {
    const v = r.view;
    if (v.sub === "asked" && v.want && v.frame <= written) v.bytes = quarter(m, v.bytes);
    resetView(v);
    v.placed = "";
    v.placeAt = v.refused = 0;
    m.places.delete(r);
    prune(m, r);
  }
}

/** As small as the answer to a question is asked for, bytes. */
const leastBytes = 16 * 1024;

/** The next size of an answer that was cut. */
export function quarter(m: Machine, bytes: number): number {
  return Math.max(Math.floor((bytes || m.limits.deltaBytes) / 4), leastBytes);
}

/** What a command says of the size of its answer. */
export function maxBytes(m: Machine, bytes: number): number | undefined {
  return m.link.features.includes("maxBytes") && bytes > 0 ? bytes : undefined;
}

/** Drops the cursor of a view whose rows the store dropped, never one without the other. */
export function forgot(m: Machine, room: string): void {
  const v = m.rooms.get(room)?.view;
  if (!v) return;
  v.cursor = undefined;
  resetView(v);
}

/** Subscribes the rooms that wait for it, and those whose gap didn't close. */
export function tickViews(m: Machine): void {
  if (!isSending(m)) return;
  const now = m.now.mono;
  for (const r of m.order) {
    const v = r.view;
    if (v.sub === "asked" && now >= v.by) subscribeLater(m, r, 0);
    else if (v.sub === "live" && v.aheadBy !== 0 && now >= v.aheadBy) resubscribe(m, r);
    if (v.sub === "none" && isWanted(v) && now >= v.at) askView(m, r);
  }
}

/** Subscribes a room with its cursor. */
export function askView(m: Machine, r: RoomState): void {
  const v = r.view;
  v.sub = "asked";
  v.ref = ref(m, "v");
  v.asked = m.now.mono;
  v.by = m.now.mono + m.cfg.pageWithin;
  const { limit, cursor } = v.want ? v : { limit: 0, cursor: undefined };
  v.frame = command(m, {
    ...{ type: "subscribe", ref: v.ref, room: r.name, cursor, limit },
    maxBytes: maxBytes(m, v.bytes),
  });
}

/** Closes a gap: the server stops the live rows and starts from the cursor. */
export function resubscribe(m: Machine, r: RoomState): void {
  m.counts.gaps++;
  r.view.sub = "none";
  r.view.at = m.now.mono;
  r.view.ahead = [];
  r.view.aheadBy = 0;
}

/** Asks again by the delay law, the server's word a lower bound. */
export function subscribeLater(m: Machine, r: RoomState, after: number): void {
  const v = r.view;
  v.tries++;
  const d = delay(m.cfg.base, m.cfg.rowCap, v.tries, m.cfg.rand());
  v.sub = "none";
  v.ref = "";
  v.at = m.now.mono + Math.max(d, Math.min(after, m.cfg.retryAfterMax));
}

/** The room whose subscription a ref is of. */
export function asker(m: Machine, ref: string | undefined): RoomState | undefined {
  return m.order.find((r) => r.view.sub === "asked" && r.view.ref === ref);
}

export function subscribeRefused(m: Machine, e: ErrorFrame): void {
  const r = asker(m, e.ref);
  if (!r) return;
  if (e.code === "session_invalid") {
    r.view.sub = "none";
    sessionInvalid(m);
  } else if (e.code === "actor_mismatch") {
    actorMismatch(m);
  } else if (isRetryable(e)) {
    const v = r.view;
    subscribeLater(m, r, e.retryAfterMs ?? 0);
    if (v.tries > 1) emit(m, { type: "denied", room: r.name, reason: e.code, retryIn: v.at - m.now.mono });
  } else {
    const { tries } = r.view;
    denied(m, r, e.code);
    r.view.tries = tries; // of one that is asked for again as sends need it
  }
}

/** Takes in the server's end of a subscription; the answer to this client's own wish says nothing new. */
export function unsubscribed(m: Machine, e: Unsubscribed): void {
  const r = m.rooms.get(e.room);
  if (r && !e.ref && r.view.sub !== "none") denied(m, r, e.reason ?? "");
}

function denied(m: Machine, r: RoomState, reason: string): void {
  resetView(r.view);
  r.view.sub = "denied";
  if (r.view.want) emit(m, { type: "denied", room: r.name, reason, retryIn: 0 });
}

/** Replaces a view, rows and cursor together. */
export function snapshot(m: Machine, e: SnapshotFrame): void {
  const r = asker(m, e.ref);
  if (!r) return; // an answer to an earlier subscription
  const v = r.view;
  if (!isSound(e)) {
    m.counts.garbled++;
    return subscribeLater(m, r, 0);
  }
  v.sub = "live";
  v.ready = true;
  v.tries = v.bytes = 0;
  v.ref = "";
  leavePlace(m, r);
  if (!isKept(v)) return owns(m, e.messages);
  m.counts.snapshots++;
  const cursor = { epoch: e.epoch, after: e.head, messageId: e.headId };
  const messages = e.messages.map((msg) => arrived(m, msg));
  v.cursor = cursor;
  m.doing.changes.push({ kind: "snapshot", room: r.name, cursor, messages, now: serverNow(m) });
  emit(m, { type: "room", room: r.name, cursor, replaced: true });
  drain(m, r);
}

/** Whether a snapshot is one: rows by rising seq, none past its head. */
function isSound(e: SnapshotFrame): boolean {
  let last = 0;
  return e.messages.every((msg) => {
    const rising = msg.seq > last && msg.seq <= e.head;
    last = msg.seq;
    return rising && (msg.seq !== e.head || msg.messageId === e.headId);
  });
}
