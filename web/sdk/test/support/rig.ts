/** A client against the small server, or against an end whose every frame a test writes. */

import { type Client, open } from "../../src/client/client.ts";
import type { Options } from "../../src/client/options.ts";
import type { Channel } from "../../src/client/relay.ts";
import type { ClientEvent } from "../../src/session/event.ts";
import { MemoryMedium, openMemoryStore } from "../../src/store/memory.ts";
import { Server } from "./server.ts";
import { settle, Virtual } from "./virtual.ts";

/** Channels of one name, in one process: what is posted comes to the others a moment later. */
export class Channels {
  readonly #all = new Set<Channel & { name: string }>();

  readonly make = (name: string): Channel => {
    const all = this.#all;
    const c: Channel & { name: string } = {
      name,
      onmessage: null,
      postMessage(message) {
        const data = structuredClone(message);
        for (const o of all) if (o !== c && o.name === name) queueMicrotask(() => o.onmessage?.({ data } as never));
      },
      close: () => void all.delete(c),
    };
    all.add(c);
    return c;
  };
}

/** Rig is a world of tests. */
export class Rig {
  readonly time = new Virtual();
  readonly server = new Server(() => 1, this.time);
  readonly medium = new MemoryMedium();
  readonly channels = new Channels();

  /** Opens a client, and notes its events. */
  async open(o: Partial<Options> = {}): Promise<{ client: Client; events: ClientEvent[] }> {
    const client = await open({
      ...{ url: "ws://rig", token: "ann", transport: this.server.transport, clock: this.time.clock() },
      store: o.store ?? (await openMemoryStore({ medium: this.medium })),
      channel: () => undefined,
      wakes: () => () => {},
      ...o,
      session: { rand: () => 1, ...o.session },
    });
    const events: ClientEvent[] = [];
    client.listen((e) => events.push(e));
    await settle();
    return { client, events };
  }

  /** Opens a client and waits until it is online. */
  async online(o: Partial<Options> = {}): Promise<{ client: Client; events: ClientEvent[] }> {
    const opened = await this.open(o);
    await this.time.pass(100);
    return opened;
  }

  /** As online, for another actor with a store of their own. */
  async another(token: string): Promise<{ client: Client; events: ClientEvent[] }> {
    return this.online({ token, store: await openMemoryStore() });
  }

  /** Sends and returns the id. */
  async say(client: Client, room: string, text: string, data?: unknown): Promise<string> {
    const id = client.nextMessageId();
    await client.send(room, id, { text, data });
    return id;
  }
}

/** The rows of an async iterable. */
export async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const r of rows) list.push(r);
  return list;
}
