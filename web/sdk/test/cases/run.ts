import { delay } from "../../src/session/delay.ts";
import { MemoryMedium, openMemoryStore } from "../../src/store/memory.ts";
import { settle, Virtual } from "../support/virtual.ts";
import { Agent, type Call, kindOf } from "./agent.ts";
import type { Scenario, Step } from "./case.ts";
import { list, show, type Value, Vars, whole } from "./match.ts";
import { Network, type Peer } from "./peers.ts";

/** How long a call may take, ms of the scenario's time. */
const patience = 30_000;

/** Run is one scenario under way, in a world whose every frame and moment the file names. */
export class Run {
  readonly #vars: Vars;
  readonly #time = new Virtual();
  readonly #net = new Network(() => this.#time.unix);
  readonly #agents = new Map<string, Agent>();
  readonly #media = new Map<string, MemoryMedium>();

  constructor(s: Scenario) {
    this.#vars = new Vars(Object.entries(s.vars ?? {}));
  }

  async steps(steps: readonly Step[] = []): Promise<void> {
    for (const [i, s] of steps.entries()) {
      const word = words[s.do];
      const at = `step ${i + 1} (${s.do} ${s.name ?? ""}${s.method ? ` ${s.method}` : ""}) ${s.note ?? ""}`;
      if (!word) throw new Error(`${at}: unknown word`);
      try {
        await word.call(this, s);
      } catch (e) {
        throw new Error(`${at}: ${(e as Error).message}`, { cause: e });
      }
    }
  }

  /** Ends all that the scenario left. */
  async close(): Promise<void> {
    for (const a of this.#agents.values()) if (a.isOpen) await this.#time.wait(a.close(), 1000);
  }

  #number(v: Value, absent = 0): number {
    return v === undefined ? absent : whole(this.#vars.resolve(v));
  }

  #text(v: Value): string {
    return v === undefined ? "" : String(this.#vars.resolve(v));
  }

  #agent(s: Step): Agent {
    const a = this.#agents.get(s.name ?? "");
    if (!a) throw new Error("no such client");
    return a;
  }

  #medium(name: string): MemoryMedium {
    const m = this.#media.get(name) ?? new MemoryMedium();
    this.#media.set(name, m);
    return m;
  }

  #peer(s: Step): Peer {
    const p = this.#net.peers.get(s.to ?? s.name ?? "");
    if (!p) throw new Error("no such connection");
    return p;
  }

  /** Holds an error against the kind that a step names. */
  async #expecting(kind: string | undefined, f: () => Promise<Value>): Promise<Value> {
    let got: Value = null;
    let failed: unknown;
    try {
      got = await this.#time.wait(f(), patience);
    } catch (e) {
      failed = e;
    }
    const is = kindOf(failed);
    if (is === (kind ?? "")) return got;
    throw new Error(kind ? `refused as "${is}", and should be as ${kind}` : `refused as ${is}`, { cause: failed });
  }

  /** Returns the next frame that isn't of a type passed over, within ms; pings are answered by themselves. */
  async #take(p: Peer, within: number, skip: readonly string[] = []): Promise<Record<string, Value>> {
    for (const end = this.#time.t + within; ; ) {
      await settle();
      const f = p.came.shift();
      if (f?.type === "ping") p.write(this.#net.pong(f));
      else if (f && !skip.includes(f.type as string)) return f;
      else if (!f && p.gone) throw new Error("the client ended the connection");
      else if (!f && this.#time.t >= end) throw new Error(`no frame within ${within} ms`);
      else if (!f) await this.#time.toNext(end);
    }
  }

  #call(s: Step): Call {
    const data = s.data === undefined ? undefined : this.#vars.resolve(s.data);
    return {
      ...{ method: s.method ?? "", kind: s.kind ?? "", after: s.how === "after", data },
      ...{ room: this.#text(s.room), id: this.#text(s.id), text: this.#text(s.text), value: this.#text(s.value) },
      ...{ n: this.#number(s.n), wall: this.#number(s.wall), mono: this.#number(s.mono) },
    };
  }

  async open(s: Step): Promise<void> {
    const a = this.#agents.get(s.name ?? "") ?? new Agent(() => this.#time.t);
    this.#agents.set(s.name ?? "", a);
    const { lease, rand = 1, poll = 3_600_000, ...bounds } = (s.limits ?? {}) as Record<string, number>;
    const session = Object.fromEntries(
      Object.entries(bounds).map(([k, v]) => [k.charAt(0).toLowerCase() + k.slice(1), v]),
    );
    await this.#expecting(s.error, async () => {
      await a.open(
        {
          url: "ws://script",
          store: await openMemoryStore({ medium: this.#medium(s.store ?? "") }),
          offline: s.kind === "offline",
          transport: this.#net.transport(s.name ?? ""),
          session: { ...session, rand: () => rand },
          clock: this.#time.clock(a.moved),
          channel: () => undefined,
          ...(lease !== undefined && { lease }),
          poll,
        },
        `token of ${s.as ?? ""}`,
      );
      return null;
    });
  }

  /** Ends a client as kill -9 would: what its store holds at this moment is what the next one finds. */
  async kill(s: Step): Promise<void> {
    const a = this.#agent(s);
    const copy = await this.#medium(s.store ?? "").copy();
    await this.#time.wait(a.close(), 1000);
    this.#agents.delete(s.name ?? "");
    this.#media.set(s.store ?? "", copy);
  }

  async sdk(s: Step): Promise<void> {
    const a = this.#agent(s);
    const c = this.#call(s);
    await settle();
    const got = await this.#expecting(s.error, () => a.call(c));
    if (s.var) this.#vars.set(s.var, got);
    if (s.expect !== undefined) this.#vars.match(s.expect, got);
  }

  async event(s: Step): Promise<void> {
    const { events } = this.#agent(s);
    const end = this.#time.t + this.#number(s.within, patience);
    for (let n = 0; ; ) {
      await settle();
      for (; n < events.length; n++) if (this.#vars.try(s.expect, events[n])) return;
      if (this.#time.t >= end) throw new Error(`it never comes; there were ${show(events)}`);
      await this.#time.toNext(end);
    }
  }

  async accept(s: Step): Promise<void> {
    for (const end = this.#time.t + this.#number(s.within); ; ) {
      await settle();
      const peer = this.#net.waiting.get(s.name ?? "")?.shift();
      if (peer) {
        this.#net.peers.set(s.to ?? s.name ?? "", peer);
        return;
      }
      if (this.#time.t >= end) throw new Error("nobody dials");
      await this.#time.toNext(end);
    }
  }

  async welcome(s: Step): Promise<void> {
    const p = this.#peer(s);
    const hello = await this.#take(p, 0);
    this.#vars.match({ type: "hello" }, hello);
    if (s.expect !== undefined) this.#vars.match(s.expect, hello);
    p.write(this.#net.welcome(hello, this.#vars.resolve(s.frame) as Record<string, Value>));
  }

  async take(s: Step): Promise<void> {
    const from = this.#time.t;
    const f = await this.#take(this.#peer(s), this.#number(s.within), s.skip);
    try {
      this.#vars.match(s.frame, f);
    } catch (e) {
      throw new Error(`${(e as Error).message} in ${show(f)}`, { cause: e });
    }
    if (s.expect !== undefined) this.#vars.match(s.expect, this.#time.t - from);
  }

  async none(s: Step): Promise<void> {
    const p = this.#peer(s);
    const f = await this.#take(p, this.#number(s.within), s.skip).catch(() => undefined);
    if (f) throw new Error(`unexpected: ${show(f)}`);
  }

  async nobody(s: Step): Promise<void> {
    await this.#time.pass(this.#number(s.within));
    const n = this.#net.waiting.get(s.name ?? "")?.length ?? 0;
    if (n > 0) throw new Error(`${n} dials`);
  }

  give(s: Step): void {
    this.#peer(s).write(this.#vars.resolve(s.frame));
  }

  cut(s: Step): void {
    this.#peer(s).cut();
    this.#net.peers.delete(s.to ?? s.name ?? "");
  }

  dialing(s: Step): void {
    this.#net.how = s.how as Network["how"];
  }

  async pass(s: Step): Promise<void> {
    await this.#time.pass(this.#number(s.ms));
  }

  async traffic(s: Step): Promise<void> {
    await settle();
    this.#vars.match(s.expect, this.#net.traffic());
  }

  async repeat(s: Step): Promise<void> {
    for (let i = 0; i < this.#number(s.n); i++) {
      this.#vars.set("i", String(i));
      await this.steps(s.steps);
    }
  }

  async each(s: Step): Promise<void> {
    for (const v of s.in ?? []) {
      this.#vars.set(s.var ?? "", this.#vars.resolve(v));
      await this.steps(s.steps);
    }
  }

  check(s: Step): void {
    this.#vars.match(s.expect, this.#vars.resolve(s.value));
  }

  let(s: Step): void {
    this.#vars.set(s.var ?? "", this.#vars.resolve(s.value));
  }

  now(s: Step): void {
    this.#vars.set(s.var ?? "", this.#time.unix);
  }

  forget(s: Step): void {
    for (const v of s.in ?? []) this.#vars.delete(String(v));
  }

  distinct(s: Step): void {
    const all = list(this.#vars.resolve(s.value)).map(show);
    if (new Set(all).size !== all.length) throw new Error("one stands twice");
    this.#vars.match(s.expect, all.length);
  }

  count(s: Step): void {
    this.#vars.match(s.expect, this.#vars.count(s.frame, this.#vars.resolve(s.value)));
  }

  async copy(s: Step): Promise<void> {
    this.#media.set(s.to ?? "", await this.#medium(s.name ?? "").copy());
  }

  async mark(s: Step): Promise<void> {
    const marks = await this.#medium(s.name ?? "").run("readonly", (t) => t.all("marks", {}));
    if (marks.length !== 1) throw new Error(`${marks.length} devices`);
    const hex = Buffer.from((marks[0] as { mark: Uint8Array }).mark).toString("hex");
    this.#vars.match(s.expect, BigInt(`0x${hex}`));
  }

  delay(s: Step): void {
    const { base, cap, least } = s.limits as Record<string, number>;
    for (const u of s.in as number[]) {
      for (let n = 1; n <= this.#number(s.n); n++) {
        const d = delay(base as number, cap as number, n, u);
        if (!(d >= (least as number) && d <= (cap as number))) throw new Error(`attempt ${n} with ${u} waits ${d} ms`);
      }
    }
  }
}

type Word = (this: Run, s: Step) => Promise<void> | void;
const { open, kill, sdk, event, accept, welcome, take, none, nobody, give, cut, dialing, pass, traffic } =
  Run.prototype;
const { repeat, each, check, let: note, now, forget, distinct, count, copy, mark, delay: law } = Run.prototype;

/** What a step does, by its word. */
export const words: Readonly<Record<string, Word>> = {
  ...{ "sdk.open": open, "sdk.kill": kill, sdk, "sdk.event": event, accept, welcome, take, none, nobody, give, cut },
  ...{ dialing, pass, traffic, repeat, each, check, let: note, now, forget, distinct, count },
  ...{ "store.copy": copy, "store.mark": mark, delay: law },
};
