/** The messages of rooms within a transaction. */

import type { Arrived, Content, Snapshot } from "./change.ts";
import type { Message } from "./contract.ts";
import { bodyOf, type StoredBody } from "./seal.ts";
import { type Query, within } from "./tables.ts";
import type { Transaction } from "./transaction.ts";
import { sizeOf } from "./trim.ts";

/** A message as it lies in the table: its body may be sealed; without a position while only an ack has told of it. */
export type StoredMessage = Omit<Message, "position" | "text" | "data"> & { readonly position?: number };

async function at(t: Transaction, m: Content): Promise<StoredMessage | undefined> {
  const found = (await t.tables.all("messages", { index: "seq", ...within(m.room, m.seq) })) as StoredMessage[];
  return found.find((o) => o.epoch === m.epoch);
}

async function byId(t: Transaction, m: Content): Promise<StoredMessage | undefined> {
  return (await t.tables.get("messages", [m.room, m.messageId])) as StoredMessage | undefined;
}

function put(t: Transaction, m: Content, position: number, body: object): StoredMessage {
  const { room, epoch, seq, messageId, actor, clientMessageId } = m;
  const stored = { room, epoch, seq, messageId, actor, clientMessageId, at: m.at, ...body };
  const now = position ? { ...stored, position } : stored;
  t.put("messages", now);
  t.grow(m.room, 1, sizeOf(now));
  return now;
}

function remove(t: Transaction, m: StoredMessage): void {
  t.delete("messages", [m.room, m.messageId]);
  t.grow(m.room, -1, -sizeOf(m));
}

/** Stores a message that an ack told of, unless it is held already. */
export async function ack(t: Transaction, m: Content, body: object): Promise<void> {
  if (!(await byId(t, m)) && !(await at(t, m))) put(t, m, 0, body);
}

const place = (m: { readonly seq: number; readonly epoch: string }): string => `${m.seq} ${m.epoch}`;

/**
 * Stores messages of a room, by rising seq, that a cursor covers, giving positions to those that have none. What is held is read
 * at once, as each wait in a transaction costs a turn of the event loop, and then kept as the messages are put one by one.
 */
export async function arrive(
  t: Transaction,
  arrived: readonly Arrived[],
  bodies: readonly StoredBody[],
): Promise<void> {
  const [first, last] = [arrived[0], arrived.at(-1)];
  if (!first || !last) return;
  const there = await stored(t, { index: "seq", lower: [first.room, first.seq], upper: [first.room, last.seq, []] });
  const same = await Promise.all(arrived.map((m) => byId(t, m)));
  const ids = new Map<string, StoredMessage>();
  const places = new Map<string, StoredMessage>();
  for (const m of [...there, ...same]) {
    if (!m) continue;
    ids.set(m.messageId, m);
    places.set(place(m), m);
  }
  const drop = (m: StoredMessage | undefined) => {
    if (!m) return;
    ids.delete(m.messageId);
    places.delete(place(m));
    remove(t, m);
  };
  for (const [i, m] of arrived.entries()) {
    const before = ids.get(m.messageId);
    const position = before?.position ?? ++t.head.feed;
    drop(before);
    drop(places.get(place(m)));
    const now = put(t, m, position, bodyOf(bodies[i]!));
    ids.set(m.messageId, now);
    places.set(place(m), now);
  }
}

/** Drops what a snapshot replaces: all but its own messages, and those of its epoch that an ack stored beyond its head. */
export async function prune(t: Transaction, s: Snapshot): Promise<void> {
  const kept = new Set(s.messages.map((m) => m.messageId));
  for (const m of await stored(t, { index: "seq", ...within(s.room) })) {
    const ahead = m.position === undefined && m.epoch === s.cursor.epoch && m.seq > s.cursor.after;
    if (!kept.has(m.messageId) && !ahead) remove(t, m);
  }
}

/** Reads stored messages. */
export async function stored(t: Transaction, q: Query): Promise<StoredMessage[]> {
  return (await t.tables.all("messages", q)) as StoredMessage[];
}

/** Drops a room's cursor and messages. */
export async function forget(t: Transaction, room: string): Promise<void> {
  for (const m of await stored(t, { index: "seq", ...within(room) })) t.delete("messages", [m.room, m.messageId]);
  t.delete("cursors", room);
  await empty(t, (m) => m.room === room);
}

/** Drops those of all rooms. */
export async function forgetAll(t: Transaction): Promise<void> {
  t.clear("messages");
  t.clear("cursors");
  await empty(t, () => true);
}

/** Takes what they said out of the messages set aside, and leaves that there were some. */
async function empty(t: Transaction, of: (m: StoredMessage) => boolean): Promise<void> {
  const aside = (await t.tables.all("aside", {})) as { n: number; table: string; value: StoredMessage }[];
  for (const { n, table, value } of aside) {
    if (table !== "messages" || !of(value)) continue;
    const { room, messageId } = value;
    t.put("aside", { n, table, why: "forgotten", value: { room, messageId } });
  }
}
