import type { Cursor, Key, Row, Schedule, State } from "../store/contract.ts";
import { mended } from "./delay.ts";
import { emit, serverNow } from "./doing.ts";
import { type Flight, land } from "./flight.ts";
import type { Machine } from "./machine.ts";
import { isWanted, newView, type View } from "./view.ts";

/** Parked: no answer, as often as allowed; its room is held. */
export const reasonAttempts = "attempts";
/** Parked: its body can't be read. */
export const reasonUnreadable = "unreadable";

/**
 * Why a row's status is asked: it may be older than results are held; a send of it was refused, and an earlier one may have been
 * accepted; or its frame was written, and its answer is missing.
 */
export type Why = "retention" | "forbidden" | "doubt";

/** OutRow is an outbox row in memory. */
export interface OutRow {
  /** How it is to be. */
  row: Row;
  /** How the store has it. */
  stored: Row;
  readonly room: RoomState;
  /** Of a send not yet stored. */
  readonly ticket: number;

  flight: Flight | undefined;
  /** Answered out_of_order: goes when this one is answered. */
  after: OutRow | undefined;
  /** Due now by "try now", whatever its schedule says. */
  lifted: boolean;
  /** Its status is to be asked before anything else is done. */
  asking: Why | undefined;
  /** mono: when its only frame was written, for the time to its ack; 0 where there were several, or none here. */
  sent: number;
  /** A frame of it left in this process. */
  here: boolean;
  /** In doubt since a connection was lost with it. */
  lost: boolean;
  /** Questions without an answer. */
  asked: number;
  /** mono: not before. */
  askAt: number;
  /** By a change of the view: the store moves it by itself. */
  settled: boolean;
  gone: boolean;
}

/** RoomState is what the machine keeps of a room. */
export interface RoomState {
  readonly name: string;
  readonly rows: Map<string, OutRow>;
  /** Queued and sending, by position. */
  queue: OutRow[];
  /** Parked and uncertain. */
  aside: OutRow[];
  /** Rows aside that hold the room. */
  holders: number;
  /** Rows in flight. */
  flying: number;
  readonly view: View;
}

/** The row of a key. */
export function rowOf(m: Machine, k: Key): OutRow | undefined {
  return m.rooms.get(k.room)?.rows.get(k.id);
}

/** The room of a name, made where needed. */
export function roomOf(m: Machine, name: string): RoomState {
  const have = m.rooms.get(name);
  if (have) return have;
  const r: RoomState = { name, rows: new Map(), queue: [], aside: [], holders: 0, flying: 0, view: newView() };
  m.rooms.set(name, r);
  const i = m.order.findIndex((o) => o.name > name);
  m.order.splice(i < 0 ? m.order.length : i, 0, r);
  return r;
}

/** Whether a row has stepped aside, so that rows behind it don't wait for it. */
export function isAside(r: Row): boolean {
  return r.state === "parked" || r.state === "uncertain";
}

/** Whether a parked row holds its room back. */
function holds(r: Row): boolean {
  return r.state === "parked" && r.reason === reasonAttempts;
}

/** A row in memory, in its place. */
export function newRow(m: Machine, row: Row, stored: Row, ticket = 0): OutRow {
  const w: OutRow = {
    ...{ row, stored, room: roomOf(m, row.room), ticket, flight: undefined, after: undefined, lifted: false },
    ...{ asking: undefined, sent: 0, here: false, lost: false, asked: 0, askAt: 0, settled: false, gone: false },
  };
  w.room.rows.set(row.id, w);
  place(m, w);
  return w;
}

/** Takes in a row as the store has it. */
export function load(m: Machine, row: Row): OutRow {
  return newRow(m, row, row);
}

/** Puts a row where its state belongs. A row found sending is not in flight here: it is queued. */
export function place(m: Machine, w: OutRow): void {
  const { queue, aside } = w.room;
  if (isAside(w.row)) {
    aside.push(w);
    m.aside++;
    if (holds(w.row)) w.room.holders++;
    return;
  }
  let i = queue.length;
  const { position } = w.row;
  const later = (o: Row): boolean => o.position > position || o.position === 0;
  while (i > 0 && position > 0 && later((queue[i - 1] as OutRow).row)) i--;
  queue.splice(i, 0, w);
}

/** Takes a row out of its room's lists. `was` says in which it is, as its state may have changed already. */
export function unplace(m: Machine, w: OutRow, was: Row): void {
  const { queue, aside } = w.room;
  if (!isAside(was)) {
    const i = queue.indexOf(w);
    if (i >= 0) queue.splice(i, 1);
    return;
  }
  aside.splice(aside.indexOf(w), 1);
  m.aside--;
  if (holds(was)) w.room.holders--;
}

/** Forgets a row: it was confirmed or removed. */
export function drop(m: Machine, w: OutRow): void {
  if (w.gone) return;
  w.gone = true;
  if (w.flight) land(m, w.flight);
  unplace(m, w, w.row);
  w.room.rows.delete(w.row.id);
  prune(m, w.room);
}

/** Forgets a room of which nothing is kept. */
export function prune(m: Machine, r: RoomState): void {
  const v = r.view;
  if (r.rows.size > 0 || isWanted(v) || v.cursor || v.sub !== "none" || v.placed !== "" || v.refused > 0) return;
  m.order = m.order.filter((o) => o !== r);
  m.rooms.delete(r.name);
}

/** Changes a row; that is stored at the end of the step. */
export function change(m: Machine, w: OutRow, to: Partial<Row>): void {
  w.row = { ...w.row, ...to };
  m.doing.touched.add(w);
}

/** A row's own schedule. */
export function scheduleOf({ attempts, interval, lastAttemptAt }: Schedule): Schedule {
  return { attempts, interval, lastAttemptAt };
}

/** Puts a row that is no longer in flight back in line. */
export function requeue(m: Machine, w: OutRow, s: Schedule): void {
  change(m, w, { state: "queued", ...scheduleOf(s) });
  mend(m, w);
}

/** Mends the schedule of a row whose last attempt lies in the future. */
export function mend(m: Machine, w: OutRow): void {
  if (m.now.wall >= w.row.lastAttemptAt) return;
  change(m, w, mended(w.row, m.now.wall, m.cfg.rand()));
  m.counts.clockBacks++;
}

/** Parks a row or makes it uncertain. The rows behind it go on, unless the reason holds the room. */
export function stepAside(m: Machine, w: OutRow, state: State, reason: string): void {
  const was = w.row;
  change(m, w, { state, reason, asideAt: serverNow(m) });
  moveAside(m, w, was);
  if (m.aside > m.cfg.limits.aside) m.doing.evict = true;
}

/** Puts a row that has stepped aside into its new place, and tells. */
export function moveAside(m: Machine, w: OutRow, was: Row): void {
  unplace(m, w, was);
  w.asking = w.after = undefined;
  place(m, w);
  emit(m, { type: "row", row: w.row, nextIn: 0 });
}

/** The sends in flight behind w in its room, first to last. */
export function behind(w: OutRow): Flight[] {
  const i = w.room.queue.indexOf(w);
  if (i < 0 || w.room.flying === 0) return [];
  const flights: Flight[] = [];
  for (let n = i + 1; n < w.room.queue.length && flights.length < w.room.flying; n++) {
    const f = w.room.queue[n]?.flight;
    if (f && !f.status) flights.push(f);
  }
  return flights;
}

/** Two cursors of one place. */
export function sameCursor(a: Cursor | undefined, b: Cursor | undefined): boolean {
  return a?.epoch === b?.epoch && a?.after === b?.after && a?.messageId === b?.messageId;
}
