/** Frames of a server as the session reads them: rows complete, absent texts empty. */

import type {
  Ack,
  Delta,
  ErrorFrame,
  Page,
  Pong,
  Row,
  Snapshot,
  Subscribed,
  Unsubscribed,
  Welcome,
} from "./generated/wire.ts";

/** The WebSocket subprotocol that both sides must name. */
export const subprotocol = "hapax.v1";

/** Content is a row of a room as readers see it. */
export interface Content extends Omit<Row, "clientMessageId" | "data"> {
  readonly room: string;
  readonly epoch: string;
  /** On the author's own copies only; empty on others. */
  readonly clientMessageId: string;
  /** Canonical JSON; empty where there is none. */
  readonly data: string;
}

type WithRows<F> = Omit<F, "messages"> & { readonly messages: readonly Content[] };

/** A live row. */
export interface Live {
  readonly type: "message";
  readonly ref?: string | undefined;
  readonly message: Content;
}

/** A frame of a type that version 1 doesn't know: it moves nothing. */
export interface Unknown {
  readonly type: "unknown";
  readonly ref?: string | undefined;
  /** The type that it names. */
  readonly named: string;
}

export type SnapshotFrame = WithRows<Snapshot>;
export type DeltaFrame = WithRows<Delta>;
export type PageFrame = WithRows<Page>;

/** ServerFrame is what a server sends. */
export type ServerFrame =
  | Welcome
  | Ack
  | Live
  | SnapshotFrame
  | DeltaFrame
  | PageFrame
  | Subscribed
  | Unsubscribed
  | Pong
  | ErrorFrame
  | Unknown;

export type {
  Ack,
  Code,
  Command,
  ErrorFrame,
  Limits,
  Pong,
  Send,
  Status,
  Subscribe,
  Unsubscribed,
  Welcome,
} from "./generated/wire.ts";
export { defaultLimits } from "./generated/wire.ts";
