/** Refusals of what no store takes, whatever it holds: with `bad_change`, before anything is read. */

import { zeroId } from "../ids/id.ts";
import type { Arrived, Change, Confirm, Cursor, Rows, Snapshot, Step } from "./change.ts";
import type { Owner } from "./contract.ts";
import { StoreError } from "./errors.ts";
import type { Entry, Schedule, State } from "./row.ts";

/** Bytes of a room's name, by version 1 of the protocol. */
const maxRoom = 128;

/** The states, in the order in which a row can come to them. */
export const states: readonly State[] = ["queued", "sending", "parked", "uncertain"];

function refuse(what: string): never {
  throw new StoreError("bad_change", `not a valid change: ${what}`);
}

/** A number from 0 that is exact. */
export const isCount = (n: unknown): n is number => Number.isSafeInteger(n) && (n as number) >= 0;

/** Whether an id may be used, also one from elsewhere: 1 to 128 bytes of printable ASCII without quote and backslash. */
export const isId = (id: unknown): id is string =>
  typeof id === "string" && /^[!#-[\]-~]{1,128}$/.test(id) && id !== zeroId;

const isSchedule = (s: Schedule): boolean => isCount(s.attempts) && isCount(s.interval) && isCount(s.lastAttemptAt);

/** Refuses an owner without a name. */
export function checkOwner(o: Owner): void {
  if (!o.actor || !o.server) refuse(`owner "${o.actor}" on server "${o.server}"`);
}

/** Refuses entries that no store takes; those sending need a fence. */
export function checkEntries(fence: number, entries: readonly Entry[]): void {
  for (const e of entries) {
    const room = new TextEncoder().encode(e.room).length;
    if (!isId(e.id)) refuse("not a valid client message id");
    if (room < 1 || room > maxRoom) refuse(`room of ${room} bytes`);
    if (!e.fingerprint) refuse("entry without fingerprint");
    if (e.state !== "queued" && e.state !== "sending") refuse(`entry ${e.state}`);
    if (e.state === "sending" && !(e.firstSentAt > 0)) refuse("entry sending without firstSentAt");
    if (!isCount(e.firstSentAt) || !isCount(e.queuedAt) || !isSchedule(e)) refuse("negative time or count");
    if (e.state === "sending" && fence === 0)
      throw new StoreError("fenced", "only the drainer adds rows that are sending");
  }
}

/** Refuses changes that no state could allow. */
export function checkChanges(changes: readonly Change[]): void {
  for (const c of changes) {
    switch (c?.kind) {
      case "step":
        checkStep(c);
        break;
      case "confirm":
        checkConfirm(c);
        break;
      case "rows":
        checkRows(c);
        break;
      case "snapshot":
        checkSnapshot(c);
        break;
      default:
        refuse("no such kind");
    }
  }
}

function checkStep(s: Step): void {
  const aside = s.to === "parked" || s.to === "uncertain";
  if (!states.includes(s.to)) refuse(`step to state ${s.to}`);
  if (!isSchedule(s)) refuse("negative time or count");
  if (s.to === "sending" && !(s.firstSentAt > 0)) refuse("sending without firstSentAt");
  if (s.to === "parked" && !s.reason) refuse("parked without a reason");
  if (aside !== s.asideAt > 0) refuse(`asideAt ${s.asideAt} in state ${s.to}`);
}

function checkConfirm(c: Confirm): void {
  if (!c.epoch || !c.messageId || !isCount(c.seq) || c.seq < 1) refuse("confirmation without epoch, seq or messageId");
}

function checkCursor(c: Cursor): void {
  if (!c.epoch || !isCount(c.after) || (c.after === 0) !== (c.messageId === "")) refuse(`cursor ${JSON.stringify(c)}`);
}

/** Keeps what a cursor means: no gap below it, one epoch, and its own row is the last. */
function checkRows(r: Rows): void {
  checkCursor(r.to);
  if (!r.room || r.from.epoch !== r.to.epoch || r.to.after !== r.from.after + r.messages.length) {
    refuse(`${r.messages.length} rows from ${JSON.stringify(r.from)} to ${JSON.stringify(r.to)}`);
  }
  r.messages.forEach((m, i) => {
    if (m.seq !== r.from.after + 1 + i) refuse(`seq ${m.seq} as row ${i + 1} after ${r.from.after}`);
    checkArrived(m, r.room, r.to.epoch, r.now);
  });
  const last = r.messages.at(-1)?.messageId ?? r.from.messageId;
  if (last !== r.to.messageId) refuse(`cursor at "${r.to.messageId}", its last row is "${last}"`);
}

function checkSnapshot(s: Snapshot): void {
  checkCursor(s.cursor);
  if (!s.room) refuse("snapshot without a room");
  let before = 0;
  for (const m of s.messages) {
    if (m.seq <= before || m.seq > s.cursor.after) refuse(`seq ${m.seq} after ${before}, up to ${s.cursor.after}`);
    checkArrived(m, s.room, s.cursor.epoch, s.now);
    before = m.seq;
  }
  const last = s.messages.at(-1);
  if (last?.seq === s.cursor.after && last.messageId !== s.cursor.messageId) {
    refuse(`snapshot's last row "${last.messageId}", its cursor "${s.cursor.messageId}"`);
  }
}

function checkArrived(a: Arrived, room: string, epoch: string, now: number): void {
  if (a.room !== room || a.epoch !== epoch) refuse(`message of room "${a.room}", epoch "${a.epoch}" among others`);
  if (!a.messageId || !isCount(a.seq) || a.seq < 1) refuse("message without seq or messageId");
  if (!a.clientMessageId !== !a.fingerprint) refuse("a fingerprint belongs to a message with a clientMessageId");
  if (a.fingerprint && !(now > 0)) refuse("own messages without the server's time");
}
