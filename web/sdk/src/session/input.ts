/** What happened, as the machine is told. */

import type { ServerFrame } from "../protocol/frames.ts";
import type { Added, Key, Result, Row } from "../store/contract.ts";
import type { Question } from "./effect.ts";

/** Now is a moment of one clock, in ms: wall is Unix time and may jump, mono only rises. */
export interface Now {
  readonly wall: number;
  readonly mono: number;
}

/**
 * Inputs of the connection. `conn` is the number that Dial gave; inputs of an earlier connection are ignored.
 *
 * - `connect`: the app wishes to be connected: at the start, after gave_up, or at once where the machine waits
 * - `disconnect`: it wishes not to be
 * - `token` answers AskToken; `error` tells why there is none
 * - `newToken`: the app has another token to give: rooms held by `forbidden` and a state of auth_required end by it
 * - `connected`: a dial led to an open connection
 * - `wrote`: the frames up to number n were handed to the network
 * - `received`: a frame of the server
 * - `garbled`: a frame that couldn't be decoded: it moves nothing, and counts
 * - `lost` ends a connection: a failed dial, a cut, or the answer to Close. Frames up to `written` were handed to the
 *   network, wholly or in part
 * - `visible`: the app came back to the front, or its network did: a wait to reconnect ends now, no counter goes back, and an open
 *   connection is asked for a sign of life
 */
export type LinkInput =
  | { readonly kind: "connect" | "disconnect" | "newToken" | "visible" }
  | { readonly kind: "token"; readonly token: string; readonly error?: unknown }
  | { readonly kind: "connected"; readonly conn: number }
  | { readonly kind: "wrote"; readonly conn: number; readonly n: number }
  | { readonly kind: "received"; readonly conn: number; readonly frame: ServerFrame }
  | { readonly kind: "garbled"; readonly conn: number; readonly error: unknown }
  | Lost;

export type Lost = { readonly kind: "lost"; readonly conn: number; readonly written: number; readonly error?: unknown };

/**
 * Inputs of the outbox.
 *
 * - `send` is a new row. It is stored by Add; the answer to its ticket is the store's
 * - `rowIs` tells how the store has a row now that something other than Apply moved it: a resend, a retry, another tab
 * - `rowGone`: a row was cancelled or discarded
 * - `rows` is a complete reading of the store's rows, after another handle changed it
 * - `tryNow` lifts the waiting times of one room; attempts stay as they are
 * - `unreadable`: a row's body couldn't be read for its frame, which was not written
 */
export type OutboxInput =
  | Send
  | { readonly kind: "rowIs" | "rowGone"; readonly row: Row }
  | { readonly kind: "rows"; readonly rows: readonly Row[] }
  | { readonly kind: "tryNow"; readonly room: string }
  | Unreadable;

export type Send = {
  readonly kind: "send";
  readonly ticket: number;
  readonly key: Key;
  readonly fingerprint: string;
  readonly size: number;
};

export type Unreadable = { readonly kind: "unreadable"; readonly key: Key; readonly reason: string };

/**
 * Inputs of rooms and questions.
 *
 * - `subscribe` asks for a room's rows from now on; `limit` is the rows of a snapshot, undefined for the server's own number
 * - `unsubscribe` ends it; what is stored stays
 * - `forgot`: the store dropped a room's cursor with its rows
 * - `ask` sends a status or history command, now or when there is a connection, again on the next one if that is lost, until
 *   it is answered; `unask` forgets it
 */
export type RoomInput =
  | { readonly kind: "subscribe"; readonly room: string; readonly limit: number | undefined }
  | { readonly kind: "unsubscribe" | "forgot"; readonly room: string }
  | { readonly kind: "ask"; readonly ticket: number; readonly command: Question }
  | { readonly kind: "unask"; readonly ticket: number };

/** Brings the results of all store effects of the last step: of Add, of Apply, of Evict. */
export type Stored = {
  readonly kind: "stored";
  readonly added: readonly Added[];
  readonly results: readonly Result[];
  readonly evicted: readonly Row[];
};

/** Says that a store effect failed, and those after it were not tried. `added` is what Add had done before. */
export type StoreFailed = { readonly kind: "storeFailed"; readonly error: unknown; readonly added: readonly Added[] };

/** Input is something that happened. Stored or StoreFailed must follow a step that returned store effects, and no other. */
export type Input = LinkInput | OutboxInput | RoomInput | Stored | StoreFailed;
