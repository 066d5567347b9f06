/** What is to be done, as the machine says it. */

import type { Command, ServerFrame } from "../protocol/frames.ts";
import type { History, Status } from "../protocol/generated/wire.ts";
import type { Added, Change, Entry, Owner, Row } from "../store/contract.ts";
import type { ClientEvent } from "./event.ts";

/** A question changes nothing at the server. */
export type Question = Status | History;

/**
 * Effects on the store. They are the last of a list: the next step must bring their result.
 *
 * - `bind` notes the store's owner, at its first welcome
 * - `add` stores new rows in their order; the driver puts in the bodies
 * - `apply` stores changes in one transaction
 * - `evict` removes the rows that have stepped aside for too long, or are too many, as of a server time
 */
export type StoreEffect =
  | { readonly kind: "bind"; readonly owner: Owner }
  | { readonly kind: "add"; readonly rows: readonly NewRow[] }
  | { readonly kind: "apply"; readonly changes: readonly Change[] }
  | { readonly kind: "evict"; readonly now: number };

/** NewRow is a row of Add. Its entry has no body yet. */
export interface NewRow {
  readonly ticket: number;
  readonly entry: Omit<Entry, "text" | "data">;
}

/** OutFrame is a numbered frame of a connection: 1, 2, 3 … `row` names the row whose body the driver puts into a send. */
export interface OutFrame {
  readonly n: number;
  readonly command: Command;
  readonly row?: Row | undefined;
}

/** Write sends frames in their order. */
export type Write = { readonly kind: "write"; readonly conn: number; readonly frames: readonly OutFrame[] };

/**
 * Effect is something to be done.
 *
 * - `askToken` asks the app for a token, to be answered by Token
 * - `dial` opens a connection, to be answered by Connected or Lost
 * - `close` ends one at once, also one still being dialled, to be answered by Lost
 * - `wake` asks for a step at a monotonic time at the latest; a later Wake replaces it, 0 asks for none
 * - `emit` tells the app
 * - `answer` answers an Ask (`frame`: an ack, a page or an error) or a Send (`added`: the store's word); `error` where
 *   neither could be had
 * - `reread` asks for a Rows input, read now: the store differs from what the machine knew
 */
export type Effect =
  | StoreEffect
  | Write
  | { readonly kind: "askToken" | "reread" }
  | { readonly kind: "dial" | "close"; readonly conn: number }
  | { readonly kind: "wake"; readonly at: number }
  | { readonly kind: "emit"; readonly event: ClientEvent }
  | Answer;

export type Answer = {
  readonly kind: "answer";
  readonly ticket: number;
  readonly frame?: ServerFrame;
  readonly added?: Added;
  readonly error?: unknown;
};
