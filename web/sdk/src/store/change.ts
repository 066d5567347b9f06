/** What a drainer may change by `apply`. */

import type { Key, Row, Schedule, State } from "./row.ts";

/** Cursor is how far a room's view goes. It changes only as a whole. */
export interface Cursor {
  readonly epoch: string;
  /** The seq of the last row covered, 0 for none. */
  readonly after: number;
  /** The messageId of that row, empty for none. */
  readonly messageId: string;
}

/** What a message of a room says and where it stands. */
export interface Content {
  readonly room: string;
  readonly epoch: string;
  readonly seq: number;
  readonly messageId: string;
  readonly actor: string;
  /** On the author's own copies only; empty on others. */
  readonly clientMessageId: string;
  readonly text: string;
  /** Canonical JSON; empty where there is none. */
  readonly data: string;
  /** Server time, ms. */
  readonly at: number;
}

/**
 * Step moves one outbox row. It is applied only if the row is there with `revision`, and is queued or sending: rows that
 * stepped aside move by retry, discard, Confirm and evict alone.
 */
export interface Step extends Schedule {
  readonly kind: "step";
  readonly position: number;
  /** As read; the row then has revision + 1. */
  readonly revision: number;
  readonly to: State;
  /**
   * Server time; needed, more than 0, where `to` is sending: it is noted if the row has none yet, and ignored else, as
   * the first stays. In other steps it is ignored.
   */
  readonly firstSentAt: number;
  /** Needed where `to` is parked; in queued it says that the row is held. */
  readonly reason: string;
  /** Server time; needed where `to` is parked or uncertain, 0 else. */
  readonly asideAt: number;
}

/**
 * Confirm is an ack. The row of its key, in whatever state, is deleted and its body stored as a message with the seq, in
 * one transaction. Without such a row nothing happens. The cursor doesn't move. A message that is held already (same
 * messageId, or same epoch and seq) stays as it is.
 */
export interface Confirm extends Key {
  readonly kind: "confirm";
  readonly epoch: string;
  readonly seq: number;
  readonly messageId: string;
  readonly at: number;
}

/** Arrived is a message as it came from the server. */
export interface Arrived extends Content {
  /**
   * Set where the message has a clientMessageId, which only its author gets: the drainer computes it from the content.
   * The outbox row of that key is settled with it: by an equal one as by an ack, by another the row is parked with
   * `id_conflict`. Empty else.
   */
  readonly fingerprint: string;
}

/**
 * Rows are the rows that move a room's cursor forward: one live, or those of a delta. Applied only if the room's cursor
 * equals `from`. Messages are the dense seqs from.after + 1 … to.after of one epoch, so an empty delta has `to` equal to
 * `from`.
 */
export interface Rows {
  readonly kind: "rows";
  readonly room: string;
  readonly from: Cursor;
  readonly to: Cursor;
  readonly messages: readonly Arrived[];
  /** Server time, for rows parked by a conflict. */
  readonly now: number;
}

/**
 * Snapshot replaces a room's view, cursor and messages together. Messages that the old view held too (by messageId, which
 * is never given twice) keep their position; those of its epoch that an ack stored beyond the new head stay.
 */
export interface Snapshot {
  readonly kind: "snapshot";
  readonly room: string;
  readonly cursor: Cursor;
  /** By rising seq, none past cursor.after. */
  readonly messages: readonly Arrived[];
  /** Server time, for rows parked by a conflict. */
  readonly now: number;
}

/** Change is what a drainer may do in `apply`. */
export type Change = Step | Confirm | Rows | Snapshot;

/** Result answers a Change. */
export interface Result {
  readonly applied: boolean;
  /** For a Step, the row as it is now, undefined where it is gone; for a Confirm, the row deleted. */
  readonly row?: Row | undefined;
  /** For Rows and Snapshot, the outbox rows that their messages settled as by an ack: deleted. */
  readonly confirmed: readonly Row[];
  /** For Rows and Snapshot, the outbox rows that their messages parked. */
  readonly conflicts: readonly Row[];
  /** For Rows and Snapshot, the room's cursor as it is now, undefined where none is held. */
  readonly cursor?: Cursor | undefined;
}

/** The reason of a row parked because another content is stored under its id. */
export const reasonConflict = "id_conflict";

/** The Result of a change that was not applied. */
export const noResult: Result = { applied: false, confirmed: [], conflicts: [] };
