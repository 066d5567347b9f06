/**
 * The contract between the client and whatever keeps its rows: marks, outbox, messages, cursors. It is that of the Go
 * SDK (client/store) in the same words.
 *
 * Durability. A method that changes something is done only once the change is (in the browser: at the `complete` event of
 * a transaction of strict durability). With an error, either all of the change is there or nothing is.
 *
 * Ownership. A store belongs to one actor on one server. The actor is told when the store is opened, and the server noted by
 * bind at the first welcome. For another actor neither opens it (`wrong_store`), and nothing changes.
 *
 * One drainer. Any number of handles, in any number of tabs, may add, list, cancel, retry and discard. One of them
 * drains: drain takes a lock that the browser frees when its tab dies, raises the fence, and puts rows that a dead drainer
 * left sending back to queued, as sending is never believed after a restart. Whatever the drainer changes goes through
 * apply and names that fence; a drainer that lost its lock without noticing changes nothing.
 *
 * Guards. A row has a revision, raised by exactly one with each change. A Step names the revision that it read and is
 * applied only if the row is still there with it; the Result tells how the row is now. Changes from outside the drainer
 * are guarded by the row's state, inside the transaction. Nothing but add creates a row, and a position is never given
 * twice.
 *
 * Cursor. A room's cursor changes only as a whole, and in the transaction that stores the rows which it covers. The same
 * transaction settles this actor's outbox rows among them.
 *
 * Feed. Events are hints. A message gets a position of this store once a cursor covers it, rising, per room in the order
 * of seq; an app reads feed after a position of its own, so a crash between storing and handling loses none. A message
 * that an ack alone stored has no position until its row arrives, but shows in view at once.
 *
 * Nothing vanishes. No migration or reset deletes an outbox row; one that can't be read is set aside with its bytes,
 * counted and reported. Only evict removes settled rows unasked, and it returns them.
 *
 * Numbers are safe integers; times are Unix milliseconds: of the server's clock where a comment says so, else of this
 * machine's wall clock.
 */

import type { Change, Content, Cursor, Result } from "./change.ts";
import type { Added, Body, Entry, Key, Row } from "./row.ts";

export type { Arrived, Change, Confirm, Content, Cursor, Result, Rows, Snapshot, Step } from "./change.ts";
export { reasonConflict } from "./change.ts";
export { isStoreError, StoreError, type StoreErrorCode } from "./errors.ts";
export type { Added, Body, Entry, Key, Row, Schedule, State } from "./row.ts";

/** Limits bound what a store keeps (docs/spec/client.md, 3). */
export interface Limits {
  /** Rows queued or sending; 10,000, so that an outage can't fill the disk. */
  readonly queued: number;
  /** Rows parked or uncertain together; 1,000. */
  readonly aside: number;
  /** ms of server time that such a row lives; 7 days. */
  readonly asideAge: number;
  /**
   * Messages kept of each room and their bytes, the newest ones staying; Infinity for no bound. Left out, a memory store keeps 10,000
   * rows and 16 MiB of each, as it would grow without end, and IndexedDB keeps all.
   */
  readonly roomRows?: number;
  readonly roomBytes?: number;
}

/** The limits of docs/spec/client.md. */
export const defaultLimits: Limits = { queued: 10_000, aside: 1_000, asideAge: 7 * 24 * 3600 * 1000 };

/** The schema version that this SDK reads and writes. */
export const version = 3;

/** Owner is to whom a store belongs. */
export interface Owner {
  readonly actor: string;
  /** The welcome's `server`; "" for a store that was opened for the actor and had no welcome yet. */
  readonly server: string;
}

/** Report tells what opening a store found and did. */
export interface Report {
  /** The store was made by this opening. */
  readonly created: boolean;
  /** Schema versions before and after; the same where it was made. */
  readonly from: number;
  readonly to: number;
  /** Unreadable rows that this opening set aside. */
  readonly setAside: number;
}

/** Counts are figures of an outbox. */
export interface Counts {
  /** Including those being sent. */
  readonly queued: number;
  /** Of them, being sent. */
  readonly sending: number;
  readonly parked: number;
  readonly uncertain: number;
  /** Unreadable rows kept with their bytes. */
  readonly setAside: number;
  /** Rows that evict ever removed. */
  readonly evicted: number;
}

/** Aside is an unreadable row as it was found. */
export interface Aside {
  /** Of which table. */
  readonly table: string;
  /** What could not be read. */
  readonly why: string;
  /** The row's members as JSON; bytes as {"base64": …}. */
  readonly row: string;
}

/** Room is the view of a room: its cursor, and where the view was last replaced. */
export interface Room {
  readonly room: string;
  readonly cursor: Cursor;
  /**
   * The position that the last Snapshot took. An app whose own position is below it holds rows of a view that was
   * replaced, and reads the room anew by view.
   */
  readonly replaced: number;
  /** What the bound of its messages dropped since then, undefined where nothing. */
  readonly trimmed?: Trimmed | undefined;
}

/** Messages that the bound of their room dropped, oldest first: of a seq from `from` to `to`, the last of which had `position`. */
export interface Trimmed {
  readonly room: string;
  readonly position: number;
  readonly from: number;
  readonly to: number;
}

/** Rows of the feed, and what of the rooms' rows behind the position asked from is there no more, as of the same moment. */
export interface Feed {
  readonly messages: Message[];
  readonly trimmed: readonly Trimmed[];
}

/** Message is a stored row of a room. */
export interface Message extends Content {
  /** In this store's feed; 0 while only an ack has told of it. */
  readonly position: number;
}

/** Receipt is what the server made of a message of this store's outbox. It doesn't depend on the message's own row. */
export interface Receipt extends Key {
  readonly messageId: string;
  readonly seq: number;
  readonly epoch: string;
  /** Server time, ms. */
  readonly at: number;
}

/** How many receipts a store keeps, those of the rows confirmed last: ten times a full outbox. */
export const maxReceipts = 100_000;

/** Lease is the right to the ordinals [start, start + n) of a device. */
export interface Lease {
  /** 16 bytes, big-endian. */
  readonly device: Uint8Array;
  /** Below 2^128. */
  readonly start: bigint;
  /** How many, from 1 to 2^53 − 1. */
  readonly n: number;
}

/**
 * Hint tells a handle that it is time to look. A hint may be lost or repeated: what counts is what the store answers.
 *
 * - `changed`: another handle changed the store; `changed()` tells, and list and feed show what is there now
 * - `free`: nobody seems to drain the store; `drain()` tells
 * - `lost`: this handle no longer drains the store, or must let go now (the page is being frozen or left): close the
 *   connection at once. Changes that name its fence fail with `fenced` from then on.
 */
export type Hint = "changed" | "free" | "lost";

/** Store keeps what a client must not forget. Every method rejects with a StoreError. */
export interface Store {
  /** The 128 random bits made with the store, as 16 bytes. */
  readonly device: Uint8Array;
  /** What opening found. */
  readonly report: Report;
  /** Whom the store belongs to; undefined where that is known neither by a bind nor by who opened it. */
  owner(): Promise<Owner | undefined>;
  /** Notes the owner at the first welcome. With the same owner it changes nothing; with another: `wrong_store`. */
  bind(owner: Owner): Promise<void>;

  /**
   * Reserves n ordinals of a device, raising its mark in the same transaction: start = mark + 1 + jump · 2^40. `jump` is
   * 48 fresh random bits. A device seen for the first time starts at mark 0; the store's own without a mark, or a mark of
   * any length but 16 bytes: `corrupt`, now and from then on. `bad_lease` for n below 1 or a jump of 2^48 or more;
   * `overflow` where start + n > 2^128. A failed reservation may have raised the mark, but gives no lease.
   */
  reserve(device: Uint8Array, n: number, jump: bigint): Promise<Lease>;

  /**
   * Stores new rows in their order in one transaction, giving them rising positions, and returns an Added for each.
   * Entries that are sending need the caller's fence (`fenced`: add them as queued); others take fence 0. An entry that
   * no store takes fails the call with `bad_change`, nothing stored.
   */
  add(fence: number, entries: readonly Entry[]): Promise<Added[]>;
  /** Rows without bodies, by rising position, those after the given one, at most limit. */
  list(after: number, limit: number): Promise<Row[]>;
  /** A row by its key. */
  find(key: Key): Promise<Row | undefined>;
  /** The receipt of a row that was confirmed, undefined where none was, or too many after it. */
  receipt(key: Key): Promise<Receipt | undefined>;
  /** Reads the content of a row. `no_row`, or `unreadable` for a body that can't be read. */
  body(position: number): Promise<Body>;
  /**
   * Every row of the outbox with its body by rising position, read page by page and never copied whole: each row as of
   * the moment at which its page is read. Rows whose body can't be read are set aside.
   */
  export(): AsyncIterable<readonly [Row, Body]>;
  /** The unreadable rows, oldest first. */
  setAside(): AsyncIterable<Aside>;
  counts(): Promise<Counts>;

  /** Removes a row that was never sent and returns it; one with firstSentAt: `may_have_been_sent`. */
  cancel(key: Key): Promise<Row>;
  /**
   * Puts a parked, uncertain, held or waiting row to queued, due now, same id, attempts 0, no reason. An uncertain row
   * gets firstSentAt = sentAt (server time, more than 0, else `bad_change`): the app accepts a possible second copy.
   * `in_flight` for a row being sent.
   */
  retry(key: Key, sentAt: number): Promise<Row>;
  /** Removes a row in whatever state, also one that may have been accepted, and returns it. */
  discard(key: Key): Promise<Row>;

  /**
   * Takes the drainer's lock without waiting for it and raises the fence. `draining` where another handle holds it; the
   * handle that drains already gets `draining` too. In the browser it takes the lock of a leader that has given no sign
   * of life for too long (docs/spec/client.md, 5).
   */
  drain(): Promise<number>;
  /**
   * The positions of the rows that this handle's last drain found sending: frames of them may have reached the server, and nobody
   * heard an answer. None before a drain.
   */
  inDoubt(): readonly number[];
  /** Frees the lock. Changes that name its fence fail from then on. No error where the handle doesn't drain. */
  undrain(): Promise<void>;
  /**
   * Applies the drainer's changes in their order in one transaction, and returns a Result for each. A change whose guard
   * fails is not applied, the others are. `fenced`, and `bad_change` for one that no state could allow, apply none.
   */
  apply(fence: number, changes: readonly Change[]): Promise<Result[]>;
  /**
   * Removes parked and uncertain rows older than `Limits.asideAge` as of now (server time), and the oldest of those above
   * `Limits.aside`, wiping their bodies, and returns them. It never touches queued rows. Call it only with server time.
   */
  evict(fence: number, now: number): Promise<Row[]>;
  /**
   * Whether another handle changed the store since the last call on this one. Cheap enough to be asked several times a
   * second; after true, list shows what is there now.
   */
  changed(): Promise<boolean>;
  /** Calls f with hints until the function returned is called. */
  listen(f: (hint: Hint) => void): () => void;

  /** A room's view, undefined where none is held. */
  room(room: string): Promise<Room | undefined>;
  /** All views by rising name (order of UTF-16 code units). */
  rooms(): Promise<Room[]>;
  /**
   * Messages of a room (of all, for "") with a position after the given one, rising, at most limit, and what the bounds of their rooms
   * dropped with a position after it (`Limits.roomRows`).
   */
  feed(room: string, after: number, limit: number): Promise<Feed>;
  /**
   * The last messages of a room with a seq below before (0: the last of all), by rising seq, at most limit; also those
   * that an ack stored ahead of the cursor.
   */
  view(room: string, before: number, limit: number): Promise<Message[]>;
  /**
   * Drops a room's cursor together with its messages, never one without the other: of all rooms, for "", in one transaction, as an app
   * does at a sign-out. Outbox rows stay, and of messages set aside what they said goes. A client that is open on the store hears nothing
   * of it: end it before, or call its own `forget`.
   */
  forget(room: string): Promise<void>;

  /** Frees the drainer's lock and the store. It is safe to call twice. */
  close(): Promise<void>;
}
