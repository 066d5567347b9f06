/** What the drainer changes, each within the transaction that `apply` runs. */

import {
  type Arrived,
  type Change,
  type Confirm,
  noResult,
  type Result,
  type Rows,
  type Snapshot,
  type Step,
} from "./change.ts";
import type { Room } from "./contract.ts";
import { ack, arrive, prune } from "./messages.ts";
import { confirmedMessage, conflict, step } from "./rule.ts";
import { bodyOf, type StoredBody } from "./seal.ts";
import type { Transaction } from "./transaction.ts";

/** Applies one change. bodies are those of a Rows' or Snapshot's messages as they are to be stored. */
export function apply(t: Transaction, c: Change, bodies: readonly StoredBody[]): Promise<Result> {
  switch (c.kind) {
    case "step":
      return move(t, c);
    case "confirm":
      return confirm(t, c);
    case "rows":
      return advance(t, c, bodies);
    case "snapshot":
      return replace(t, c, bodies);
  }
}

async function move(t: Transaction, c: Step): Promise<Result> {
  const before = await t.row(c.position);
  if (!before) return noResult;
  const row = step(c, before);
  if (!row) return { ...noResult, row: before };
  t.update(before, row);
  return { ...noResult, applied: true, row };
}

async function confirm(t: Transaction, c: Confirm): Promise<Result> {
  const row = await t.byKey(c);
  if (!row) return noResult;
  const body = (await t.tables.get("bodies", row.position)) as StoredBody | undefined;
  const message = confirmedMessage(c, t.head.owner, { text: "", data: "" });
  if (body) await ack(t, message, bodyOf(body));
  t.confirm(row, c);
  return { ...noResult, applied: true, row };
}

async function advance(t: Transaction, c: Rows, bodies: readonly StoredBody[]): Promise<Result> {
  const room = (await t.tables.get("cursors", c.room)) as Room | undefined;
  const at = room?.cursor;
  if (!room || !at || at.epoch !== c.from.epoch || at.after !== c.from.after || at.messageId !== c.from.messageId) {
    return { ...noResult, cursor: at };
  }
  await arrive(t, c.messages, bodies);
  t.put("cursors", { ...room, cursor: c.to });
  return { ...(await settle(t, c.messages, c.now)), cursor: c.to };
}

async function replace(t: Transaction, c: Snapshot, bodies: readonly StoredBody[]): Promise<Result> {
  const replaced = ++t.head.feed;
  await prune(t, c);
  await arrive(t, c.messages, bodies);
  t.put("cursors", { room: c.room, cursor: c.cursor, replaced } satisfies Room);
  return { ...(await settle(t, c.messages, c.now)), cursor: c.cursor };
}

/** Settles the outbox rows whose messages arrived. */
async function settle(t: Transaction, arrived: readonly Arrived[], now: number): Promise<Result> {
  const confirmed = [];
  const conflicts = [];
  for (const a of arrived) {
    if (!a.fingerprint) continue;
    const row = await t.byKey({ room: a.room, id: a.clientMessageId });
    if (!row) continue;
    if (row.fingerprint === a.fingerprint) {
      t.confirm(row, a);
      confirmed.push(row);
      continue;
    }
    const parked = conflict(row, now);
    if (!parked) continue;
    t.update(row, parked);
    conflicts.push(parked);
  }
  return { applied: true, confirmed, conflicts };
}
