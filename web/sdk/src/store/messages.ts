/** The messages of rooms within a transaction. */

import type { Arrived, Content, Snapshot } from "./change.ts";
import type { Message } from "./contract.ts";
import { bodyOf, type StoredBody } from "./seal.ts";
import { type Query, within } from "./tables.ts";
import type { Transaction } from "./transaction.ts";

/** A message as it lies in the table: its body may be sealed; without a position while only an ack has told of it. */
export type StoredMessage = Omit<Message, "position" | "text" | "data"> & { readonly position?: number };

async function at(t: Transaction, m: Content): Promise<StoredMessage | undefined> {
  const found = (await t.tables.all("messages", { index: "seq", ...within(m.room, m.seq) })) as StoredMessage[];
  return found.find((o) => o.epoch === m.epoch);
}

async function byId(t: Transaction, m: Content): Promise<StoredMessage | undefined> {
  return (await t.tables.get("messages", [m.room, m.messageId])) as StoredMessage | undefined;
}

function put(t: Transaction, m: Content, position: number, body: object): void {
  const { room, epoch, seq, messageId, actor, clientMessageId } = m;
  const stored = { room, epoch, seq, messageId, actor, clientMessageId, at: m.at, ...body };
  t.put("messages", position ? { ...stored, position } : stored);
}

/** Stores a message that an ack told of, unless it is held already. */
export async function ack(t: Transaction, m: Content, body: object): Promise<void> {
  if (!(await byId(t, m)) && !(await at(t, m))) put(t, m, 0, body);
}

/** Stores messages that a cursor covers, giving positions to those that have none. */
export async function arrive(
  t: Transaction,
  arrived: readonly Arrived[],
  bodies: readonly StoredBody[],
): Promise<void> {
  for (const [i, m] of arrived.entries()) {
    const same = await byId(t, m);
    const other = await at(t, m);
    if (other && other.messageId !== m.messageId) t.delete("messages", [other.room, other.messageId]);
    put(t, m, same?.position ?? ++t.head.feed, bodyOf(bodies[i]!));
  }
}

/** Drops what a snapshot replaces: all but its own messages, and those of its epoch that an ack stored beyond its head. */
export async function prune(t: Transaction, s: Snapshot): Promise<void> {
  const kept = new Set(s.messages.map((m) => m.messageId));
  for (const m of await stored(t, { index: "seq", ...within(s.room) })) {
    const ahead = m.position === undefined && m.epoch === s.cursor.epoch && m.seq > s.cursor.after;
    if (!kept.has(m.messageId) && !ahead) t.delete("messages", [m.room, m.messageId]);
  }
}

/** Reads stored messages. */
export async function stored(t: Transaction, q: Query): Promise<StoredMessage[]> {
  return (await t.tables.all("messages", q)) as StoredMessage[];
}
