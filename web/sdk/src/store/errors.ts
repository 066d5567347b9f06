/**
 * What a store can refuse, in a word.
 *
 * - `closed`: the handle is closed, or the browser closed its connection
 * - `corrupt`: damaged; nothing was changed
 * - `incompatible`: written by a newer version; reset makes it usable
 * - `reload`: a newer version of the app has upgraded the store under this page: only loading the page anew helps
 * - `wrong_store`: belongs to another actor or server
 * - `unowned`: holds rows that name no owner: they may be another reader's, and only the app can claim them
 * - `wrong_key`: its bodies are encrypted with another key, or the key is lost
 * - `not_encrypted`: it holds bodies that are not encrypted, and a key was given; `encrypt: true` encrypts them
 * - `draining`: another handle drains it
 * - `fenced`: this handle no longer drains it
 * - `no_row`: no such row in the outbox
 * - `may_have_been_sent`: the row may have been sent
 * - `in_flight`: the row is being sent
 * - `unreadable`: the row can't be read and was set aside
 * - `bad_change`: not a valid change
 * - `bad_lease`: not a valid number of ordinals, or not a valid jump
 * - `overflow`: no ordinals left below 2^128
 * - `unavailable`: no IndexedDB here (blocked, private mode), or it fails to open; nothing was stored
 * - `quota`: the browser gives no more room; nothing of this call was stored
 * - `failed`: the machine failed otherwise; nothing of this call was stored
 */
export type StoreErrorCode =
  | "closed"
  | "corrupt"
  | "incompatible"
  | "reload"
  | "wrong_store"
  | "unowned"
  | "wrong_key"
  | "not_encrypted"
  | "draining"
  | "fenced"
  | "no_row"
  | "may_have_been_sent"
  | "in_flight"
  | "unreadable"
  | "bad_change"
  | "bad_lease"
  | "overflow"
  | "unavailable"
  | "quota"
  | "failed";

/** StoreError is every error that a store gives. Test its `code`. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, cause?: unknown) {
    super(`store: ${message}`, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** Reports whether an error is a StoreError, of the given code where one is given. */
export function isStoreError(e: unknown, code?: StoreErrorCode): e is StoreError {
  return e instanceof StoreError && (code === undefined || e.code === code);
}
