/**
 * The rules by which a row moves, the same for every store: a store reads the row, asks the rule and writes what it says,
 * in one transaction. They are pure.
 */

import { type Confirm, reasonConflict, type Step } from "./change.ts";
import type { Lease, Limits, Message, Owner } from "./contract.ts";
import { StoreError } from "./errors.ts";
import type { Added, Body, Entry, Row } from "./row.ts";

/** Whether the row has stepped aside, so that rows behind it don't wait for it. */
export const isAside = (r: Row): boolean => r.state === "parked" || r.state === "uncertain";

/** The row after the step, undefined where its guard fails. */
export function step(c: Step, r: Row): Row | undefined {
  if (r.revision !== c.revision || isAside(r)) return undefined;
  return {
    ...r,
    revision: r.revision + 1,
    state: c.to,
    attempts: c.attempts,
    interval: c.interval,
    lastAttemptAt: c.lastAttemptAt,
    reason: c.reason,
    asideAt: c.asideAt,
    firstSentAt: r.firstSentAt || (c.to === "sending" ? c.firstSentAt : 0),
  };
}

/** Refuses to cancel a row that may have been sent. */
export function checkCancel(r: Row): void {
  if (r.firstSentAt !== 0) throw new StoreError("may_have_been_sent", "the row may have been sent");
}

/** The row as Store.retry leaves it. */
export function retry(r: Row, sentAt: number): Row {
  if (r.state === "sending") throw new StoreError("in_flight", "the row is being sent");
  const uncertain = r.state === "uncertain";
  if (uncertain && !(sentAt > 0)) throw new StoreError("bad_change", "an uncertain row is retried as of a server time");
  return {
    ...r,
    revision: r.revision + 1,
    state: "queued",
    attempts: 0,
    interval: 0,
    lastAttemptAt: 0,
    reason: "",
    asideAt: 0,
    firstSentAt: uncertain ? sentAt : r.firstSentAt,
  };
}

/** A row that a dead drainer left sending as the next one finds it: its attempt stands, sending doesn't. */
export const requeue = (r: Row): Row => ({ ...r, state: "queued", revision: r.revision + 1 });

/** The row parked, as another content is stored under its id; undefined where it is so already. */
export function conflict(r: Row, now: number): Row | undefined {
  if (r.state === "parked" && r.reason === reasonConflict) return undefined;
  return { ...r, revision: r.revision + 1, state: "parked", reason: reasonConflict, asideAt: now };
}

/** What a confirmed row becomes. It has no position until a cursor covers it. */
export function confirmedMessage(c: Confirm, owner: Owner | undefined, b: Body): Message {
  const { room, epoch, seq, messageId, at, id } = c;
  return {
    position: 0,
    room,
    epoch,
    seq,
    messageId,
    actor: owner?.actor ?? "",
    clientMessageId: id,
    text: b.text,
    data: b.data,
    at,
  };
}

const encoder = new TextEncoder();

/** The row that an entry becomes. */
function rowOf(e: Entry, position: number): Row {
  return {
    position,
    revision: 1,
    room: e.room,
    id: e.id,
    fingerprint: e.fingerprint,
    size: encoder.encode(e.text).length + encoder.encode(e.data).length,
    queuedAt: e.queuedAt,
    attempts: e.attempts,
    interval: e.interval,
    lastAttemptAt: e.lastAttemptAt,
    firstSentAt: e.firstSentAt,
    state: e.state,
    reason: "",
    asideAt: 0,
  };
}

/**
 * Judges an entry against the row of its key (undefined: none) and the number of rows queued: what becomes of it, and
 * whether its row has to be stored. position is that of a new row.
 */
export function admit(
  e: Entry,
  have: Row | undefined,
  queued: number,
  limit: number,
  position: number,
): [Added, boolean] {
  if (have === undefined) {
    if (queued >= limit) return [{ outcome: "full", row: undefined }, false];
    return [{ outcome: "inserted", row: rowOf(e, position) }, true];
  }
  if (have.fingerprint !== e.fingerprint) return [{ outcome: "conflict", row: have }, false];
  if (e.dueNow && have.state === "queued" && have.interval !== 0) {
    return [{ outcome: "same", row: { ...have, interval: 0, revision: have.revision + 1 } }, true];
  }
  return [{ outcome: "same", row: have }, false];
}

/** Which of the rows aside are to go: those older than the age, and the oldest above the number. */
export function evictable(l: Limits, aside: readonly Row[], now: number): Row[] {
  const sorted = [...aside].sort((a, b) => a.asideAt - b.asideAt || a.position - b.position);
  let n = Math.max(0, sorted.length - l.aside);
  while (n < sorted.length && now - sorted[n]!.asideAt > l.asideAge) n++;
  return sorted.slice(0, n);
}

const jumpBits = 48n;
const ordinalBits = 128n;
const markSize = 16;

/** The ordinal that a mark holds. Any other length than 16 bytes is corruption: it is never padded. */
export function ordinalOf(mark: unknown): bigint {
  if (!(mark instanceof Uint8Array) || mark.length !== markSize) {
    throw new StoreError("corrupt", "a mark is not exactly 16 bytes; no ids");
  }
  return mark.reduce((o, b) => (o << 8n) | BigInt(b), 0n);
}

/** An ordinal as a mark: 16 bytes, big-endian. */
export function markOf(ordinal: bigint): Uint8Array {
  const mark = new Uint8Array(markSize);
  for (let i = markSize - 1, o = ordinal; i >= 0; i--, o >>= 8n) mark[i] = Number(o & 0xffn);
  return mark;
}

/**
 * The rule by which every store reserves: start = mark + 1 + jump · 2^40 (docs/spec/client.md, 1). The caller stores the
 * lease's last ordinal, start + n − 1, as the new mark in the same transaction in which it read the old one.
 */
export function reserve(device: Uint8Array, mark: bigint, n: number, jump: bigint): Lease {
  if (!Number.isSafeInteger(n) || n < 1 || jump < 0n || jump >> jumpBits !== 0n) {
    throw new StoreError("bad_lease", `not a lease: n ${n}, jump ${jump}`);
  }
  const start = mark + 1n + (jump << 40n);
  if ((start + BigInt(n) - 1n) >> ordinalBits !== 0n) throw new StoreError("overflow", "no ordinals left below 2^128");
  return { device: Uint8Array.from(device), start, n };
}
