/** Outbox rows: what a store holds of a message that the server has not confirmed. */

/**
 * State of an outbox row. A confirmed row is none: it was deleted.
 *
 * - `queued`: waits for its turn or its time; with a reason: held until a new token, retry or discard
 * - `sending`: a drainer sends it; never believed after a restart
 * - `parked`: stepped aside with a reason, until retry or discard
 * - `uncertain`: may have been accepted; never re-sent unasked
 */
export type State = "queued" | "sending" | "parked" | "uncertain";

/** Key names a row. The actor is the store's own. */
export interface Key {
  readonly room: string;
  /** The client message id as it travels. */
  readonly id: string;
}

/** Schedule is when a row is tried again: at lastAttemptAt + interval, both wall clock, ms. */
export interface Schedule {
  readonly attempts: number;
  readonly interval: number;
  readonly lastAttemptAt: number;
}

/** Body is what a row says. */
export interface Body {
  readonly text: string;
  /** Canonical JSON; empty where there is none. */
  readonly data: string;
}

/** Row is an outbox row without its body. Rows are never changed in place. */
export interface Row extends Key, Schedule {
  /** The order of `add` in this store, from 1; never given twice. */
  readonly position: number;
  /** Raised by one with each change. */
  readonly revision: number;
  readonly fingerprint: string;
  /** Bytes of text and data in UTF-8. */
  readonly size: number;
  /** Wall clock, ms. */
  readonly queuedAt: number;
  /** Server time; 0: was never sent. Never cleared: with it, the row may have been accepted. */
  readonly firstSentAt: number;
  readonly state: State;
  /** Empty where there is none. */
  readonly reason: string;
  /** Server time at which it was parked or became uncertain; 0 in other states. */
  readonly asideAt: number;
}

/** Entry is a row to be added. */
export interface Entry extends Key, Body, Schedule {
  readonly fingerprint: string;
  /** Wall clock, ms. */
  readonly queuedAt: number;
  /**
   * `queued`, or `sending` for a row that goes out right away: then with the schedule as of its first attempt and
   * firstSentAt, so that one transaction serves both.
   */
  readonly state: "queued" | "sending";
  /** Server time; 0 for a row that doesn't go out right away. */
  readonly firstSentAt: number;
  /** Where a row of this key and content is queued already, its interval becomes 0 (`resend`). */
  readonly dueNow?: boolean;
}

/**
 * Added says what became of an Entry.
 *
 * - `inserted`: `row` is the new one
 * - `same`: a row of this key and fingerprint is there; `row` is that one
 * - `conflict`: a row of this key with another fingerprint is there; `row` is that one, unchanged
 * - `full`: `Limits.queued` rows are queued; there is no row
 */
export type Added =
  | { readonly outcome: "inserted" | "same" | "conflict"; readonly row: Row }
  | { readonly outcome: "full"; readonly row: undefined };
