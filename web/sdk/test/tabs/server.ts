/** A server of one actor and one room in memory: it stores each id once, and shows what it was sent. */

import type { Content } from "../../src/protocol/frames.ts";
import type { Connection, Listener } from "../../src/transport/transport.ts";
import { decodeCommand } from "../support/command.ts";

type Frame = Record<string, unknown>;

const epoch = "e1";
const room = "r";

interface Socket {
  readonly on: Listener;
  gone: boolean;
  subscribed: boolean;
}

export class StubServer {
  readonly log: Content[] = [];
  /** How often each id was sent, and the tab that sent it. */
  readonly sends = new Map<string, string[]>();
  /** How many sends came. */
  frames = 0;
  /** Whether there is a network. */
  online = true;
  /** Sends get lost on their way. */
  losing = false;
  /** Answers to sends are held back until this is false again and `release` is called. */
  holding = false;
  #held: (() => void)[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #time: () => number;

  constructor(time: () => number) {
    this.#time = time;
  }

  /** Connects a tab. */
  dial(tab: string, on: Listener): Connection {
    const s: Socket = { on, gone: false, subscribed: false };
    queueMicrotask(() => {
      if (s.gone) return;
      if (!this.online) {
        s.gone = true;
        on.closed(new Error("no network"));
        return;
      }
      this.#sockets.add(s);
      on.opened();
    });
    return {
      send: (text) => this.#hear(tab, s, text),
      close: () => {
        if (s.gone) return;
        this.#drop(s);
        on.closed();
      },
    };
  }

  /** Cuts the network. */
  cut(): void {
    this.online = false;
    for (const s of [...this.#sockets]) {
      this.#drop(s);
      s.on.closed(new Error("cut"));
    }
  }

  /** Lets the answers go that were held back. */
  release(): void {
    this.holding = false;
    for (const answer of this.#held.splice(0)) answer();
  }

  #drop(s: Socket): void {
    s.gone = true;
    this.#sockets.delete(s);
  }

  #say(s: Socket, frame: Frame): void {
    queueMicrotask(() => {
      if (!s.gone) s.on.frame(JSON.stringify(frame));
    });
  }

  #hear(tab: string, s: Socket, text: string): void {
    decodeCommand(text); // held against what a server takes
    const c = JSON.parse(text) as Frame;
    const { ref } = c;
    switch (c.type) {
      case "hello":
        return this.#say(s, {
          ...{ type: "welcome", ref, session: "s", actor: "ann", server: "srv", epoch, serverTime: this.#time() },
          ...{ limits: {}, dedupe: { retentionMs: 30 * 24 * 3600_000 } },
        });
      case "ping":
        return this.#say(s, { type: "pong", ref, serverTime: this.#time() });
      case "subscribe": {
        s.subscribed = true;
        const from = c.cursor as { after: number } | undefined;
        const messages = this.log.slice(from?.after ?? 0).map(({ room: _, epoch: __, ...row }) => row);
        const head = { head: this.log.length, headId: this.log.at(-1)?.messageId ?? "" };
        const type = from ? { type: "delta", more: false } : { type: "snapshot" };
        return this.#say(s, { ...type, ref, room, epoch, ...head, messages: messages.map(onWire) });
      }
      case "send":
        return this.#send(tab, s, c);
    }
  }

  #send(tab: string, s: Socket, c: Frame): void {
    const id = c.clientMessageId as string;
    this.frames++;
    this.sends.set(id, [...(this.sends.get(id) ?? []), tab]);
    if (this.losing) return;
    const before = this.log.find((m) => m.clientMessageId === id);
    const seq = this.log.length + 1;
    const row = before ?? {
      ...{ room, epoch, seq, messageId: `m${seq}`, actor: "ann", clientMessageId: id },
      ...{ text: c.text as string, data: "", at: this.#time() },
    };
    if (!before) this.log.push(row);
    const answer = () => {
      const { messageId, at } = row;
      this.#say(s, {
        type: "ack",
        ref: c.ref,
        clientMessageId: id,
        room,
        messageId,
        seq: row.seq,
        epoch,
        at,
        duplicate: !!before,
      });
      if (!before)
        for (const o of this.#sockets)
          if (o.subscribed) this.#say(o, { type: "message", room, epoch, ...onWire({ ...row }) });
    };
    if (this.holding) this.#held.push(answer);
    else answer();
  }
}

/** A row as it travels: without data where there is none. */
function onWire({ data, ...row }: { data: string; [member: string]: unknown }): Frame {
  return data === "" ? row : { ...row, data: JSON.parse(data) };
}
