/** The bounds of what is kept of a room: the newest rows stay, and what went is named to whoever reads from before it. */

import type { Limits, Room, Trimmed } from "./contract.ts";
import { type StoredMessage, stored } from "./messages.ts";
import { within } from "./tables.ts";
import type { Transaction } from "./transaction.ts";

/** How much is kept of a room. */
export interface Held {
  readonly rows: number;
  readonly bytes: number;
}

/** What a message counts in `Limits.roomBytes`: its content and names, and an allowance for what keeps it. */
export function sizeOf(m: StoredMessage): number {
  const { text = "", data = "", sealed } = m as { text?: string; data?: string; sealed?: Uint8Array };
  const names = m.actor.length + m.messageId.length + m.clientMessageId.length;
  return text.length + data.length + (sealed?.length ?? 0) + names + 256;
}

const over = (h: Held, { roomRows = Infinity, roomBytes = Infinity }: Limits): boolean =>
  h.rows > 1 && (h.rows > roomRows || h.bytes > roomBytes);

/** Whether a store has bounds of this kind at all. */
export const isBounded = ({ roomRows = Infinity, roomBytes = Infinity }: Limits): boolean =>
  roomRows < Infinity || roomBytes < Infinity;

/** How many rows are read at once to be dropped. */
const batch = 256;

/**
 * Drops the oldest messages above the bounds of the rooms that grew in a transaction, and answers how much is kept of each. `known`
 * says how much was before; of a room that isn't there all is counted.
 */
export async function trim(
  t: Transaction,
  limits: Limits,
  known: ReadonlyMap<string, Held>,
): Promise<Map<string, Held>> {
  const now = new Map<string, Held>();
  for (const [room, grown] of t.grown) {
    const before = known.get(room);
    const held = before
      ? { rows: before.rows + grown.rows, bytes: before.bytes + grown.bytes }
      : count(await stored(t, { index: "seq", ...within(room) }));
    now.set(room, over(held, limits) ? await shrink(t, room, held, limits) : held);
  }
  return now;
}

const count = (all: readonly StoredMessage[]): Held => ({
  rows: all.length,
  bytes: all.reduce((sum, m) => sum + sizeOf(m), 0),
});

async function shrink(t: Transaction, room: string, from: Held, limits: Limits): Promise<Held> {
  let { rows, bytes } = from;
  let trimmed: Trimmed | undefined;
  const record = (await t.tables.get("cursors", room)) as Room | undefined;
  while (over({ rows, bytes }, limits)) {
    const oldest = await stored(t, { index: "seq", ...within(room), limit: batch });
    if (oldest.length === 0) break;
    for (const m of oldest) {
      if (!over({ rows, bytes }, limits)) break;
      t.delete("messages", [room, m.messageId]);
      rows--;
      bytes -= sizeOf(m);
      // What only an ack has told of isn't in the feed: nobody misses it.
      if (m.position) trimmed = drop(trimmed ?? record?.trimmed, room, m.position, m.seq);
    }
  }
  if (record && trimmed) t.put("cursors", { ...record, trimmed } satisfies Room);
  return { rows, bytes };
}

function drop(before: Trimmed | undefined, room: string, position: number, to: number): Trimmed {
  return { room, position: Math.max(before?.position ?? 0, position), from: before?.from ?? to, to };
}
