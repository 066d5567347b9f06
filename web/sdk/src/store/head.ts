/** Head: the one record that every transaction reads first, and every one that changes something writes. */

import { isCount } from "./check.ts";
import { type Owner, version } from "./contract.ts";
import { StoreError } from "./errors.ts";
import type { State } from "./row.ts";

export interface Head {
  readonly name: "head";
  /** Marks the database as one of ours. */
  readonly app: "hapax";
  version: number;
  owner?: Owner | undefined;
  /** Who opened the store first, until its first welcome notes the owner. */
  actor?: string | undefined;
  /** From version 2. */
  device?: Uint8Array | undefined;
  fence: number;
  /** The last position given to an outbox row. */
  position: number;
  /** The last position given to a message or a replaced view. */
  feed: number;
  evicted: number;
  /** How many receipts were ever noted. From version 3. */
  receipts?: number | undefined;
  /** How often anything changed. */
  changes: number;
  /** How many rows are in each state; `aside` counts those set aside. */
  rows: Record<State | "aside", number>;
  /** Sealed with the key of the store, so that a wrong key is told from a damaged row. */
  keyCheck?: Uint8Array | undefined;
}

/** The head of an empty store of a version. */
export function newHead(of: number): Head {
  const rows = { queued: 0, sending: 0, parked: 0, uncertain: 0, aside: 0 };
  return { name: "head", app: "hapax", version: of, fence: 0, position: 0, feed: 0, evicted: 0, changes: 0, rows };
}

/** Reads a head of the given version, believing nothing; a copy that may be changed. */
export function parseHead(raw: unknown, of = version): Head {
  const h = raw as Head | undefined;
  if (h?.app !== "hapax" || !isCount(h.version) || h.version < 1)
    throw new StoreError("corrupt", "not a client's store");
  if (h.version > of) {
    throw new StoreError(
      "incompatible",
      `version ${h.version} is newer than ${of}, the newest known; reset makes it usable`,
    );
  }
  const counts = [
    h.fence,
    h.position,
    h.feed,
    h.evicted,
    h.changes,
    h.receipts ?? 0,
    ...Object.values(h.rows ?? { none: -1 }),
  ];
  if (!counts.every(isCount) || Object.keys(h.rows).length !== 5) throw new StoreError("corrupt", "a count is damaged");
  if (h.version >= 2 && !(h.device instanceof Uint8Array && h.device.length === 16)) {
    throw new StoreError("corrupt", "its device is not 16 bytes");
  }
  return { ...h, rows: { ...h.rows } };
}

/** A sign of life of the drainer, in the table meta. It is no change of the store. */
export interface Beat {
  readonly name: "beat";
  readonly fence: number;
  /** Raised with each beat. */
  readonly n: number;
  /** The drainer's page is hidden, so that its timers may be slow. */
  readonly hidden: boolean;
  /** The drainer let go. */
  readonly free: boolean;
}

export const sameBeat = (a: Beat | undefined, b: Beat | undefined): boolean => a?.fence === b?.fence && a?.n === b?.n;
