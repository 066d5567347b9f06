/** Why a row isn't sent, in words for whoever wrote it. */

import type { Row } from "@hapax/client";

const reasons: Readonly<Record<string, string>> = {
  attempts: "no answer, as often as allowed",
  unreadable: "its text can't be read from the store",
  id_conflict: "its id names another message",
  too_large: "too large for the server",
  bad_request: "the server doesn't understand it",
  forbidden: "no right to write here",
  not_found: "the server doesn't know it",
  outcome_unknown: "sent too long ago to tell",
};

export function reasonOf(reason: string): string {
  return reasons[reason] ?? reason.replaceAll("_", " ");
}

/** A row's state as people read it. */
export interface Standing {
  readonly word: "queued" | "sending" | "held" | "parked" | "uncertain";
  /** What to say beside the word; "" for nothing. */
  readonly why: string;
  readonly retry: boolean;
  readonly cancel: boolean;
  readonly discard: boolean;
}

export function standing(row: Row): Standing {
  const stuck = { retry: true, cancel: false, discard: true };
  switch (row.state) {
    case "sending":
      return { word: "sending", why: "", retry: false, cancel: false, discard: false };
    case "parked":
      return { word: "parked", why: reasonOf(row.reason), ...stuck };
    case "uncertain":
      return { word: "uncertain", why: "it may have been stored; sending it again may make a second one", ...stuck };
    case "queued":
      if (row.reason !== "") return { word: "held", why: reasonOf(row.reason), ...stuck };
      return {
        word: "queued",
        why: row.attempts > 0 ? `tried ${row.attempts === 1 ? "once" : `${row.attempts} times`}` : "",
        retry: row.attempts > 0,
        cancel: row.firstSentAt === 0,
        discard: row.firstSentAt !== 0,
      };
  }
}
