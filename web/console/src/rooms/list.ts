/** The rooms that the reader may open: those of the server, of the browser's store, and the one just named. */

import type { Store } from "@hapax/client";
import { signal } from "@preact/signals";
import { ask } from "../core/api.ts";
import { token } from "../core/sign-in.ts";

export interface RoomEntry {
  readonly room: string;
  /** The last seq as far as known, 0 for a room without messages. */
  readonly head: number;
}

export const rooms = signal<readonly RoomEntry[]>([]);
export const listFault = signal("");
/** The server has answered at least once. */
export const listed = signal(false);

/** Between two looks at the server's list, ms. */
const every = 5_000;
/** Rooms shown; whoever has more finds theirs by name. */
const most = 1_000;

interface Page {
  readonly rooms: readonly { readonly room: string; readonly head: number }[];
  readonly next?: string;
}

/** Keeps the list as the server has it until the function returned is called. */
export function watchRooms(store: Store): () => void {
  const stopped = new AbortController();
  let timer: ReturnType<typeof setTimeout>;
  const look = async () => {
    try {
      if (!document.hidden || !listed.value) await read(stopped.signal);
      listFault.value = "";
    } catch (e) {
      if (stopped.signal.aborted) return;
      listFault.value = (e as Error).message;
    }
    timer = setTimeout(look, every);
  };
  rooms.value = [];
  listed.value = false;
  void known(store).then(look);
  return () => {
    stopped.abort();
    clearTimeout(timer);
  };
}

/** Puts a room into the list at once: one that the reader named, or whose message has just come. */
export function noteRoom(room: string, head: number): void {
  const at = rooms.value.find((r) => r.room === room);
  if (at !== undefined && at.head >= head) return;
  merge([{ room, head }]);
}

/** What the browser's own store holds is shown before, and without, the server's answer. */
async function known(store: Store): Promise<void> {
  try {
    merge((await store.rooms()).map((r) => ({ room: r.room, head: r.cursor.after })));
  } catch {
    // The server's list follows.
  }
}

async function read(signal: AbortSignal): Promise<void> {
  const found: RoomEntry[] = [];
  let after = "";
  do {
    const query = after === "" ? "" : `?after=${encodeURIComponent(after)}`;
    const page: Page = await ask<Page>(`/v1/rooms${query}`, { token: await token(), signal });
    found.push(...page.rooms.map(({ room, head }) => ({ room, head })));
    after = page.next ?? "";
  } while (after !== "" && found.length < most);
  merge(found);
  listed.value = true;
}

function merge(found: readonly RoomEntry[]): void {
  const all = new Map(rooms.value.map((r) => [r.room, r]));
  for (const r of found) all.set(r.room, r);
  rooms.value = [...all.values()].sort((a, b) => (a.room < b.room ? -1 : 1));
}
