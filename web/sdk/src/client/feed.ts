import type { Signal } from "../platform.ts";
import type { Feed, Message, Store } from "../store/contract.ts";
import type { Hub } from "./hub.ts";

/** How many rows of a room are read from the store at once. */
const page = 256;

/** The rows after a position, and then those that come, until the signal or the hub ends. */
export async function* follow(
  store: Store,
  hub: Hub,
  room: string,
  position: number,
  signal: Signal | undefined,
): AsyncGenerator<Message, void, undefined> {
  let after = position;
  const seen = new Map<string, number>();
  const aborted = new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));
  const over = (): boolean => hub.shut || signal?.aborted === true;
  while (!over()) {
    const more = hub.changes(room);
    let rows: Message[];
    try {
      const feed = await store.feed(room, after, page);
      rows = feed.messages;
      tellTrimmed(hub, feed, seen);
    } catch (e) {
      if (over()) return; // the store was closed with the client
      throw e;
    }
    for (const r of rows) {
      yield r;
      if (over()) return;
      after = r.position;
      seen.set(r.room, r.seq);
    }
    if (rows.length === 0) await Promise.race([more, aborted]);
  }
}

/** Names the rows that the bound of a room dropped before they were read. seen holds the last seq dealt with, of each room. */
export function tellTrimmed(hub: Hub, { messages, trimmed }: Feed, seen: Map<string, number>): void {
  for (const t of trimmed) {
    const first = messages.find((m) => m.room === t.room);
    const from = Math.max(t.from, (seen.get(t.room) ?? 0) + 1);
    const to = Math.min(t.to, (first?.seq ?? Infinity) - 1);
    if (from > to) continue;
    seen.set(t.room, to);
    hub.emit({ type: "trimmed", room: t.room, from, to });
  }
}

/** Calls f with each row. One at which it throws is told, and the next ones still come. */
export async function deliver(hub: Hub, rows: AsyncIterable<Message>, f: (m: Message) => unknown): Promise<void> {
  for await (const m of rows) {
    try {
      await f(m);
    } catch (error) {
      hub.emit({ type: "threw", error });
    }
  }
}
