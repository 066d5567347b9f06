/** The contract between the client and a network that carries frames: whole texts, in order, each at most once. */

/** What a connection tells. After `closed`, which comes exactly once also for a failed dial, it tells nothing more. */
export interface Listener {
  /** The connection is open. */
  opened(): void;
  /** A frame came. */
  frame(text: string): void;
  /** The connection ended; `error` says why where that is known. */
  closed(error?: unknown): void;
}

/** Connection is one being dialled, or open. */
export interface Connection {
  /** Hands a frame to the network. Called only between opened and closed. It may throw: then the frame didn't leave. */
  send(frame: string): void;
  /** Ends it at once, whatever it is doing. `closed` is told, now or soon. */
  close(): void;
}

/** Transport opens connections. */
export type Transport = (url: string, on: Listener) => Connection;
