/** The outbox as it is shown: the first rows of it, read anew when something changed. */

import type { Client, Row, Store } from "@hapax/client";
import { signal } from "@preact/signals";
import { gather } from "../core/clock.ts";
import { complain, onEvent, touched } from "../core/hapax.ts";

export interface Shown {
  readonly row: Row;
  readonly text: string;
}

export const shown = signal<readonly Shown[] | undefined>(undefined);
/** There are rows behind those shown. */
export const further = signal(false);
export const limit = signal(200);

/** Keeps the rows as the store has them until the function returned is called. */
export function watchOutbox(client: Client, store: Store): () => void {
  let reading = false;
  let again = false;
  let ended = false;
  const texts = new Map<number, string>();
  const read = async () => {
    if (reading) {
      again = true;
      return;
    }
    reading = true;
    try {
      const list: Shown[] = [];
      let more = false;
      for await (const row of client.outbox()) {
        if (list.length === limit.value) {
          more = true;
          break;
        }
        list.push({ row, text: await textOf(store, texts, row) });
      }
      if (ended) return;
      const there = new Set(list.map((s) => s.row.position));
      for (const position of texts.keys()) if (!there.has(position)) texts.delete(position);
      further.value = more;
      shown.value = list;
    } catch (e) {
      if (!ended) complain(e);
    } finally {
      reading = false;
      if (again && !ended) {
        again = false;
        soon();
      }
    }
  };
  const soon = gather(() => void read());
  const stopHearing = onEvent((e) => {
    if (e.type !== "connection" && e.type !== "room") soon();
  });
  const stopLimit = limit.subscribe(soon);
  const stopTouched = touched.subscribe(soon);
  return () => {
    ended = true;
    stopHearing();
    stopLimit();
    stopTouched();
    shown.value = undefined;
    limit.value = 200;
  };
}

async function textOf(store: Store, texts: Map<number, string>, row: Row): Promise<string> {
  const known = texts.get(row.position);
  if (known !== undefined) return known;
  try {
    const { text } = await store.body(row.position);
    texts.set(row.position, text);
    return text;
  } catch {
    return ""; // It has just left, or can't be read, which its reason then says.
  }
}
