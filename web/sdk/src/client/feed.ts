import type { Signal } from "../platform.ts";
import type { Message, Store } from "../store/contract.ts";
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
  const aborted = new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));
  const over = (): boolean => hub.shut || signal?.aborted === true;
  while (!over()) {
    const more = hub.changes(room);
    let rows: Message[];
    try {
      rows = await store.feed(room, after, page);
    } catch (e) {
      if (over()) return; // the store was closed with the client
      throw e;
    }
    for (const r of rows) {
      yield r;
      if (over()) return;
      after = r.position;
    }
    if (rows.length === 0) await Promise.race([more, aborted]);
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
