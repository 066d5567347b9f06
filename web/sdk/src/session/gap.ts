import type { Content, DeltaFrame } from "../protocol/frames.ts";
import type { Cursor } from "../store/contract.ts";
import { emit, serverNow } from "./doing.ts";
import type { Machine } from "./machine.ts";
import { arrived, own } from "./own.ts";
import { leavePlace } from "./place.ts";
import { type RoomState, sameCursor } from "./rows.ts";
import { asker, askView, isKept, resubscribe, subscribeLater, type View } from "./view.ts";

/** Takes in a row of the stream. One past a gap waits, one not past the cursor is no new line. */
export function live(m: Machine, msg: Content): void {
  const r = m.rooms.get(msg.room);
  if (!r || !isKept(r.view) || r.view.sub === "none" || r.view.sub === "denied") return own(m, msg);
  const { cursor, sub } = r.view;
  if (cursor && msg.epoch !== cursor.epoch) {
    own(m, msg);
    if (sub === "live") resubscribe(m, r);
  } else if (cursor && msg.seq <= cursor.after) {
    m.counts.drops++;
    own(m, msg);
  } else if (msg.seq === (cursor?.after ?? Number.NaN) + 1) {
    proceed(m, r, [msg]);
    drain(m, r);
  } else {
    wait(m, r, msg);
  }
}

/** Keeps a row that is ahead of a gap, for a while. */
function wait(m: Machine, r: RoomState, msg: Content): void {
  const v = r.view;
  let i = v.ahead.length;
  while (i > 0 && (v.ahead[i - 1] as Content).seq > msg.seq) i--;
  if (v.ahead[i - 1]?.seq === msg.seq) return;
  if (v.ahead.length >= m.cfg.aheadRows) {
    if (v.sub === "live") resubscribe(m, r);
    return; // while a page is awaited it comes again with that or a later one
  }
  v.ahead.splice(i, 0, msg);
  if (v.aheadBy === 0) v.aheadBy = m.now.mono + m.cfg.aheadFor;
}

/** Takes the waiting rows whose gap has closed. */
export function drain(m: Machine, r: RoomState): void {
  const v = r.view;
  const next: Content[] = [];
  let after = v.cursor?.after ?? 0;
  let n = 0;
  for (; n < v.ahead.length; n++) {
    const msg = v.ahead[n] as Content;
    if (msg.epoch !== v.cursor?.epoch || msg.seq <= after) continue;
    if (msg.seq !== after + 1) break;
    next.push(msg);
    after++;
  }
  v.ahead = v.ahead.slice(n);
  if (v.ahead.length === 0) v.aheadBy = 0;
  proceed(m, r, next);
}

/** Moves a view forward by rows that follow its cursor densely, rows and cursor in one change. */
function proceed(m: Machine, r: RoomState, rows: readonly Content[]): void {
  const last = rows.at(-1);
  const v = r.view;
  const from = v.cursor;
  if (!last || !from) return;
  const to: Cursor = { epoch: from.epoch, after: last.seq, messageId: last.messageId };
  v.cursor = to;
  const messages = rows.map((msg) => arrived(m, msg));
  const { changes } = m.doing;
  const before = v.rowsIn === m.steps ? changes[v.rowsAt] : undefined;
  if (before?.kind === "rows" && before.room === r.name && sameCursor(before.to, from)) {
    changes[v.rowsAt] = { ...before, to, messages: before.messages.concat(messages) };
  } else {
    v.rowsIn = m.steps;
    v.rowsAt = changes.length;
    changes.push({ kind: "rows", room: r.name, from, to, messages, now: serverNow(m) });
  }
  emit(m, { type: "room", room: r.name, cursor: to, replaced: false });
}

/** Takes in a page of what came after the cursor. */
export function delta(m: Machine, e: DeltaFrame): void {
  const r = asker(m, e.ref);
  if (!r) return; // an answer to an earlier subscription
  const v = r.view;
  const rows = following(v, e);
  if (!rows) {
    m.counts.garbled++;
    return subscribeLater(m, r, 0);
  }
  v.ready = true;
  leavePlace(m, r);
  proceed(m, r, rows);
  if (e.more) return askView(m, r);
  v.sub = "live";
  v.tries = v.bytes = 0;
  v.ref = "";
  // A page that calls itself the last and ends before its own head leaves a gap.
  if ((v.cursor?.after ?? 0) < e.head) resubscribe(m, r);
  else drain(m, r);
}

/**
 * The rows of a delta that lie past the cursor. One that isn't dense, of another epoch, or promises more without having moved
 * on is not sound: undefined.
 */
function following(v: View, e: DeltaFrame): Content[] | undefined {
  if (e.epoch !== v.cursor?.epoch) return undefined;
  const rows: Content[] = [];
  let { after } = v.cursor;
  for (const msg of e.messages) {
    if (msg.seq > after + 1) return undefined;
    if (msg.seq <= after) continue;
    rows.push(msg);
    after++;
  }
  return e.more && rows.length === 0 ? undefined : rows;
}
