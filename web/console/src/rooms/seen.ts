/** How far each room was read, so that the list can say what is new. */

import { signal } from "@preact/signals";

const placeOf = (actor: string) => `hapax.seen:${actor}`;
const most = 1_000;

const rooms = signal<Readonly<Record<string, number>>>({});
let owner = "";

export function openSeen(actor: string): void {
  owner = actor;
  try {
    rooms.value = JSON.parse(localStorage.getItem(placeOf(actor)) ?? "{}") as Record<string, number>;
  } catch {
    rooms.value = {};
  }
}

/** Drops what was noted of an actor. */
export function forgetSeen(actor: string): void {
  if (owner === actor) rooms.value = {};
  try {
    localStorage.removeItem(placeOf(actor));
  } catch {
    // It was never kept.
  }
}

/** The last seq that was seen of a room; undefined for one never opened. */
export function seenOf(room: string): number | undefined {
  return Object.hasOwn(rooms.value, room) ? rooms.value[room] : undefined;
}

/** Notes a seq; a lower one counts too, as a restored server begins anew. */
export function see(room: string, seq: number): void {
  if (seenOf(room) === seq) return;
  const entries = Object.entries(rooms.value).filter(([name]) => name !== room);
  rooms.value = Object.fromEntries([...entries.slice(1 - most), [room, seq]]);
  try {
    localStorage.setItem(placeOf(owner), JSON.stringify(rooms.value));
  } catch {
    // What was seen is then known until the page is left.
  }
}
