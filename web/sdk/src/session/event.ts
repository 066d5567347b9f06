import type { Cursor, Key, Row } from "../store/contract.ts";

/**
 * State of the connection (docs/spec/client.md, 4).
 *
 * - `offline`: none, by the app's wish or until the next try
 * - `connecting`: dialling, or waiting for the welcome
 * - `online`: welcomed
 * - `auth_required`: another token is needed
 * - `gave_up`: not tried again before connect
 */
export type ConnectionState = "offline" | "connecting" | "online" | "auth_required" | "gave_up";

/** Tells the connection's state. `retryIn` is the time to the next try in ms, 0 where none is planned. */
export interface ConnectionChanged {
  readonly type: "connection";
  readonly state: ConnectionState;
  readonly error?: unknown;
  readonly retryIn: number;
}

/** Says that a row is stored by the server, and gone from the outbox. */
export interface RowConfirmed {
  readonly type: "confirmed";
  readonly key: Key;
  readonly messageId: string;
  readonly seq: number;
  readonly epoch: string;
  /** Server time, ms. */
  readonly at: number;
  /** The server had it already; where the row came another way than by an ack: it was sent more than once. */
  readonly duplicate: boolean;
}

/**
 * Says that a row was parked, became uncertain, is held or will be tried again. `nextIn` is the time to its next try in ms
 * where it waits for one, else 0.
 */
export interface RowChanged {
  readonly type: "row";
  readonly row: Row;
  readonly nextIn: number;
}

/** Says that a row was dropped unasked, as it had stepped aside too long ago or too many had. */
export interface RowEvicted {
  readonly type: "evicted";
  readonly row: Row;
}

/** Says that a room's view holds more, or other rows. */
export interface RoomChanged {
  readonly type: "room";
  readonly room: string;
  readonly cursor: Cursor;
  /** By a snapshot. */
  readonly replaced: boolean;
}

/**
 * Says, to who reads a room's rows by position, that the store's bound has dropped some of them before: those of a seq from `from` to
 * `to`. `history` has them.
 */
export interface RoomTrimmed {
  readonly type: "trimmed";
  readonly room: string;
  readonly from: number;
  readonly to: number;
}

/**
 * Says that the server refuses a subscription, or ended it, or refused for the second time in a row what is needed to send to the
 * room. `retryIn` is the time to the next try in ms, 0 where none is planned.
 */
export interface RoomDenied {
  readonly type: "denied";
  readonly room: string;
  readonly reason: string;
  readonly retryIn: number;
}

/** Says that something failed that the app should know of. A failed store ends all sending until connect. */
export interface Failed {
  readonly type: "failed";
  readonly error: unknown;
}

/** Says that n events were not given to a listener that was too slow. What is true stands in the store. */
export interface Missed {
  readonly type: "missed";
  readonly n: number;
}

/** Says that a listener or a handler of rows threw. It goes on with the next event or row. */
export interface Threw {
  readonly type: "threw";
  readonly error: unknown;
}

/** Says whether this client now sends what the store holds, or another handle (another tab) does. */
export interface Drains {
  readonly type: "drains";
  readonly here: boolean;
}

/** Says that another handle changed the store: rows of the outbox or of rooms may differ. */
export interface StoreChanged {
  readonly type: "changed";
}

/** ClientEvent is a hint to the app: what is true stands in the store. */
export type ClientEvent =
  | ConnectionChanged
  | RowConfirmed
  | RowChanged
  | RowEvicted
  | RoomChanged
  | RoomDenied
  | RoomTrimmed
  | Failed
  | Missed
  | Threw
  | Drains
  | StoreChanged;

/** Stats count what a machine has seen since it was made. */
export interface Stats {
  /** Rows now; queued counts those being sent too. */
  queued: number;
  sending: number;
  parked: number;
  uncertain: number;
  /** Send frames given out. */
  sends: number;
  acks: number;
  /** Retryable answers. */
  retryable: number;
  /** Answers that didn't come. */
  timedOut: number;
  evicted: number;
  /** Rows not past the cursor, dropped. */
  drops: number;
  /** Times a room was subscribed again over a gap. */
  gaps: number;
  snapshots: number;
  /** Frames that couldn't be decoded, or broke the protocol. */
  garbled: number;
  /** Connections dialled. */
  connects: number;
  /** Rows mended as the clock went back. */
  clockBacks: number;
}
