import { utf8Length } from "../../src/protocol/names.ts";
import type { Listener, Transport } from "../../src/transport/transport.ts";
import { decodeCommand } from "../support/command.ts";
import type { Value } from "./match.ts";

type Frame = Record<string, Value>;

/** Peer is the server's end of a connection. */
export class Peer {
  readonly came: Frame[] = [];
  bytes = 0;
  gone = false;
  readonly #on: Listener;
  #answer: ((f: Frame) => void) | undefined;

  constructor(on: Listener) {
    this.#on = on;
  }

  /** Takes in what the client wrote, held against what a server accepts. */
  hear(text: string): void {
    decodeCommand(text);
    const f = JSON.parse(text) as Frame;
    this.came.push(f);
    this.bytes += utf8Length(text);
    this.#answer?.(f);
  }

  /** Answers each frame from now on, also those that came. */
  answerAll(f: (frame: Frame) => void): void {
    this.#answer = f;
    for (const c of this.came) f(c);
  }

  write(frame: Value): void {
    if (!this.gone) this.#on.frame(JSON.stringify(frame, (_, v) => (typeof v === "bigint" ? Number(v) : v))); // a sum is one
  }

  /** Ends the connection from this end. */
  cut(): void {
    if (this.gone) return;
    this.gone = true;
    this.#on.closed(new Error("the peer ended the connection"));
  }
}

/** Network is that of a world without a server: what a client dials waits until a step accepts it. */
export class Network {
  readonly dials: number[] = [];
  readonly waiting = new Map<string, Peer[]>();
  readonly peers = new Map<string, Peer>();
  how: "waits" | "refused" | "hole" = "waits";
  readonly #unix: () => number;

  constructor(unix: () => number) {
    this.#unix = unix;
  }

  transport(client: string): Transport {
    return (_url, on) => {
      this.dials.push(this.#unix());
      if (this.how === "refused") {
        queueMicrotask(() => on.closed(new Error("connection refused")));
        return { send: () => {}, close: () => on.closed() };
      }
      const peer = new Peer(on);
      if (this.how === "hole") this.#swallow(peer);
      else this.waiting.set(client, [...(this.waiting.get(client) ?? []), peer]);
      queueMicrotask(() => on.opened());
      return {
        send: (text) => peer.hear(text),
        close() {
          peer.gone = true;
          on.closed();
        },
      };
    };
  }

  /** Welcomes a client and answers its pings, and nothing else ever. */
  #swallow(peer: Peer): void {
    this.peers.set(`hole ${this.dials.length}`, peer);
    peer.answerAll((f) => {
      if (f.type === "hello") queueMicrotask(() => peer.write(this.welcome(f)));
      if (f.type === "ping") queueMicrotask(() => peer.write(this.pong(f)));
    });
  }

  /** Answers a hello; change overrides its members. */
  welcome(hello: Frame, change: Frame = {}): Frame {
    return {
      ...{ type: "welcome", ref: hello.ref, session: "s", actor: "ann", server: "srv", epoch: "e1" },
      serverTime: this.#unix(),
      limits: { text: 16384, data: 65536, frame: 262144 },
      dedupe: { retentionMs: 30 * 24 * 3600_000 },
      ...change,
    };
  }

  pong(ping: Frame): Frame {
    return { type: "pong", ref: ping.ref, serverTime: this.#unix() };
  }

  traffic(): Value {
    const peers = [...this.peers.values()];
    const came = peers.flatMap((p) => p.came);
    return {
      dials: this.dials.length,
      gaps: this.dials.slice(1).map((at, i) => at - (this.dials[i] as number)),
      frames: came.length,
      sends: came.filter((f) => f.type === "send").length,
      bytes: peers.reduce((n, p) => n + p.bytes, 0),
    };
  }
}
