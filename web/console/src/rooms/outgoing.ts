import { type Client, ClientError, zeroId } from "@hapax/client";
import { touchOutbox } from "../core/hapax.ts";
import type { RoomView } from "./view.ts";

/** Refusals that leave no trace: the id may be used again, and the text is as it was. */
const refusals = new Set(["zero_id", "not_issued", "bad_room", "bad_body", "too_large", "full", "broken", "closed"]);

/**
 * Hands one message after the other to the outbox. Where the store failed in the act nobody knows whether the row is there, so the
 * same text goes again under the same id, and is one message either way.
 */
export class Outgoing {
  busy = false;
  #doubtful: { readonly id: string; readonly text: string } | undefined;

  async send(client: Client, view: RoomView, text: string): Promise<void> {
    this.busy = true;
    try {
      if (this.#doubtful?.text === text) await this.#again(client, view, this.#doubtful.id, text);
      else await this.#first(client, view, text);
      this.#doubtful = undefined;
      touchOutbox();
    } finally {
      this.busy = false;
    }
  }

  async #first(client: Client, view: RoomView, text: string): Promise<void> {
    const id = client.nextMessageId();
    if (id === zeroId) throw new Error("no message ids are to be had at the moment; try again");
    view.remember(id, text);
    try {
      await client.send(view.room, id, { text });
    } catch (e) {
      if (e instanceof ClientError && refusals.has(e.code)) release(client, id);
      else this.#doubtful = { id, text };
      // A store that failed stays shut until it is asked for again: the next try finds it open, if it can be.
      if (e instanceof ClientError && e.code === "broken") client.connect();
      throw e;
    }
  }

  async #again(client: Client, view: RoomView, id: string, text: string): Promise<void> {
    view.remember(id, text);
    await client.resend(view.room, id, { text });
  }
}

function release(client: Client, id: string): void {
  try {
    client.release(id);
  } catch {
    // It counted as used already.
  }
}
