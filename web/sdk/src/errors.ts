import type { Code, ErrorFrame } from "./protocol/frames.ts";
import type { Row } from "./store/contract.ts";

/**
 * What a client can refuse, or say of its state, in a word.
 *
 * - `zero_id`: the zero id, which nextMessageId gives where none can be had
 * - `not_issued`: an id that nextMessageId of this client didn't give, or that was used or released before
 * - `bad_id`, `bad_room`, `bad_body`: no client message id, no room's name, text or data that JSON or UTF-8 can't carry
 * - `bad_option`: an option or an argument out of its bounds
 * - `too_large`: a body that the server's limits don't let through; nothing was stored
 * - `full`: the outbox holds as many queued rows as it may; nothing was stored, the id may be used again
 * - `conflict`: a row of this key with other content is in the outbox, or stored by the server
 * - `gone`: the row left the outbox without an ack: cancelled, discarded or evicted
 * - `parked`: the row has stepped aside, or holds its room; `row` says why
 * - `uncertain`: nobody can tell whether the row was accepted; retry risks a second copy
 * - `not_found`: the server has no result of this key
 * - `no_row`: no such row in the outbox
 * - `wrong_store`: the store belongs to another actor or server
 * - `actor_mismatch`: the token is another actor's
 * - `session_invalid`: the server doesn't accept the token, or the app gave none
 * - `signed_out`: the app's token function said that nobody is signed in: nothing is asked or tried until newToken or connect
 * - `token_slow`: the app's token function takes longer than it may; its answer is still waited for
 * - `no_answer`: no answer in time
 * - `draining`: the server is going away
 * - `protocol`: the server broke the protocol
 * - `broken`: the store failed; nothing is sent until connect has opened it anew
 * - `reload`: a newer version of the app has upgraded the store under this page: only loading the page anew helps
 * - `closed`: the client is closed
 */
export type ClientErrorCode =
  | "zero_id"
  | "not_issued"
  | "bad_id"
  | "bad_room"
  | "bad_body"
  | "bad_option"
  | "too_large"
  | "full"
  | "conflict"
  | "gone"
  | "parked"
  | "uncertain"
  | "not_found"
  | "no_row"
  | "wrong_store"
  | "actor_mismatch"
  | "session_invalid"
  | "signed_out"
  | "token_slow"
  | "no_answer"
  | "draining"
  | "protocol"
  | "broken"
  | "reload"
  | "closed";

/** ClientError is what a client refuses or reports. Test its `code`; a store's own errors are StoreErrors. */
export class ClientError extends Error {
  override readonly name = "ClientError";
  readonly code: ClientErrorCode;
  /** The row, where the code is `parked` or `uncertain`. */
  readonly row: Row | undefined;

  constructor(code: ClientErrorCode, message: string, more: { cause?: unknown; row?: Row } = {}) {
    super(`client: ${message}`, "cause" in more ? { cause: more.cause } : undefined);
    this.code = code;
    this.row = more.row;
  }
}

/** Says that nothing is taken in, as the store failed, and what helps. */
export function brokenError(cause: unknown): ClientError {
  if ((cause as { code?: unknown } | null)?.code === "reload") {
    return new ClientError("reload", "a newer version of the app has upgraded the store: load the page anew", {
      cause,
    });
  }
  return new ClientError("broken", "the store failed; nothing is sent until connect opens it anew", { cause });
}

/** ServerError is what the server itself said. */
export class ServerError extends Error {
  override readonly name = "ServerError";
  readonly code: Code;
  /** The same command may succeed later by itself. */
  readonly retryable: boolean;
  /** ms after which to try again at the soonest; 0 where unsaid. */
  readonly retryAfterMs: number;

  constructor(e: ErrorFrame) {
    super(`server: ${e.code}${e.message && `: ${e.message}`}`);
    this.code = e.code;
    this.retryable = e.retryable;
    this.retryAfterMs = e.retryAfterMs ?? 0;
  }
}
