import { type Client, ClientError, zeroId } from "@hapax/client";
import { touchOutbox } from "../core/hapax.ts";
import type { Draft } from "./drafts.ts";
import type { RoomView } from "./view.ts";

/** Refusals that leave no trace: the id may be used again, and the text is as it was. */
const refusals = new Set(["zero_id", "not_issued", "bad_room", "bad_body", "too_large", "full", "broken", "closed"]);

/**
 * Hands one message after the other to the outbox. Where the store failed in the act nobody knows whether the row is there, so the
 * same text goes again under the same id, and is one message either way.
 */
export class Outgoing {
  #busy = false;
  /** What stood in the draft each time that more was to be sent while the store worked. */
  #asked: string[] = [];

  /** Sends what stands in the draft; while the store is at it, what was written behind that, once it is done. */
  async send(client: Client, view: RoomView, draft: Draft): Promise<void> {
    if (this.#busy) return void this.#asked.push(draft.text);
    this.#busy = true;
    try {
      for (let text: string | undefined = draft.text; text?.trim(); text = this.#next(draft, text)) {
        await hand(client, view, draft, text);
      }
    } finally {
      this.#busy = false;
      this.#asked = [];
    }
  }

  /** Takes what was sent out of the draft, and says what was to follow it, undefined where nothing, or where it was written over. */
  #next(draft: Draft, sent: string): string | undefined {
    const behind = (text: string) => (text.startsWith(sent) ? text.slice(sent.length) : text);
    draft.write(behind(draft.text));
    this.#asked = this.#asked.map(behind).filter((text) => text.trim() !== "");
    const next = this.#asked.shift();
    return next !== undefined && draft.text.startsWith(next) ? next : undefined;
  }
}

async function hand(client: Client, view: RoomView, draft: Draft, text: string): Promise<void> {
  const id = draft.idOf(text);
  if (id !== undefined) await again(client, view, id, text);
  else await first(client, view, draft, text);
  draft.taken();
  touchOutbox();
}

const outgoing = new WeakMap<Client, Map<string, Outgoing>>();

/** One per client and room, so that a room left and entered again in the act doesn't send twice. */
export function outgoingOf(client: Client, room: string): Outgoing {
  const rooms = outgoing.get(client) ?? new Map<string, Outgoing>();
  outgoing.set(client, rooms);
  const found = rooms.get(room) ?? new Outgoing();
  rooms.set(room, found);
  return found;
}

async function first(client: Client, view: RoomView, draft: Draft, text: string): Promise<void> {
  const id = client.nextMessageId();
  if (id === zeroId) throw new Error("no message ids are to be had at the moment; try again");
  view.remember(id, text);
  draft.give(id, text);
  try {
    await client.send(view.room, id, { text });
  } catch (e) {
    if (e instanceof ClientError && refusals.has(e.code)) {
      release(client, id);
      draft.taken();
    }
    // A store that failed stays shut until it is asked for again: the next try finds it open, if it can be.
    if (e instanceof ClientError && e.code === "broken") client.connect();
    throw e;
  }
}

async function again(client: Client, view: RoomView, id: string, text: string): Promise<void> {
  view.remember(id, text);
  await client.resend(view.room, id, { text });
}

function release(client: Client, id: string): void {
  try {
    client.release(id);
  } catch {
    // It counted as used already.
  }
}
