/** The room that is open: one at a time, its view and its subscription together. */

import type { Client, Store } from "@hapax/client";
import { effect, signal } from "@preact/signals";
import { onEvent, touched } from "../core/hapax.ts";
import { route } from "../core/route.ts";
import { announce } from "./announcer.tsx";
import { noteRoom } from "./list.ts";
import { RoomView } from "./view.ts";

export const current = signal<RoomView | undefined>(undefined);

/** Opens the room that the address names, until the function returned is called. */
export function followRoute(client: Client, store: Store): () => void {
  const leave = (view: RoomView | undefined) => {
    view?.close();
    // Its rows and its cursor stay in the store together, and the outbox subscribes by itself where it has to send.
    if (view !== undefined) client.unsubscribe(view.room);
  };
  const stopHearing = onEvent((e) => {
    current.peek()?.hint(e);
    if (e.type === "room") noteRoom(e.room, e.cursor.after);
  });
  const stopTouched = touched.subscribe(() => current.peek()?.touch());
  const stopFollowing = effect(() => {
    const { panel, room } = route.value;
    const open = current.peek();
    // Another panel leaves the room open behind it.
    if (panel !== "rooms" || room === "" || open?.room === room) return;
    leave(open);
    try {
      client.subscribe(room);
      const view: RoomView = new RoomView(client, store, room, (lines) => announce(view.room, lines));
      current.value = view;
    } catch {
      current.value = undefined; // No room is named so: the panel says it.
    }
  });
  return () => {
    stopFollowing();
    stopHearing();
    stopTouched();
    leave(current.peek());
    current.value = undefined;
  };
}
