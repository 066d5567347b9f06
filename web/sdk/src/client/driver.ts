import { ClientError } from "../errors.ts";
import { defaultLimits } from "../protocol/frames.ts";
import type { Answer, Question } from "../session/effect.ts";
import type { ConnectionChanged } from "../session/event.ts";
import type { Input, Send } from "../session/input.ts";
import type { Machine } from "../session/machine.ts";
import { type Added, type Body, isStoreError, type Key } from "../store/contract.ts";
import { Effects } from "./effects.ts";
import { addAside } from "./follower.ts";
import type { Hub } from "./hub.ts";
import type { FullOptions } from "./options.ts";
import type { Relay } from "./relay.ts";
import { allRows, demote, reopen, takeOver, wishes } from "./takeover.ts";
import type { Waits } from "./waits.ts";

/** A send whose answer from the store is awaited. */
export interface Sending {
  readonly key: Key;
  readonly body: Body;
  readonly fingerprint: string;
  readonly done: (a: Added) => void;
  readonly failed: (error: unknown) => void;
}

/** A question whose answer is awaited. */
export interface Asking {
  readonly command: Question;
  readonly done: (a: Answer) => void;
}

/**
 * Driver runs the machine: one loop that takes in what happened, has the machine judge it, and carries its effects out in their
 * order. What comes while the store works shares the next step, and so its transaction. Without the store's lock it has no
 * machine and only hands new rows to the tab that has.
 */
export class Driver {
  readonly opts: FullOptions;
  readonly hub: Hub;
  readonly waits: Waits;
  readonly effects: Effects;
  /** Undefined while another handle drains the store. */
  m: Machine | undefined;
  fence = 0;
  /** The way to the other tabs; undefined where there is none. */
  relay: Relay | undefined;

  readonly pending = new Map<number, Sending>();
  readonly asks = new Map<number, Asking>();
  /** The app's wishes, for the machine after the next. */
  connect = false;
  readonly rooms = new Map<string, number | undefined>();

  state: ConnectionChanged = { type: "connection", state: "offline", retryIn: 0 };
  limits = defaultLimits;
  /** Server time − monotonic time, undefined before the first welcome. */
  serverOffset: number | undefined;
  /** The failure of the store, after which nothing is taken in. */
  broken: unknown;
  over = false;

  #inbox: Input[] = [];
  /** The machine is to be given all rows. */
  behind = false;
  #looking = false;
  /** The store says that this handle no longer drains it. */
  #lost = false;
  /** What failed last, until the store was taken over again. */
  #refused: string | undefined;
  #running: Promise<void> | undefined;
  #stops: (() => void)[] = [];

  constructor(opts: FullOptions, hub: Hub, waits: Waits) {
    this.opts = opts;
    this.hub = hub;
    this.waits = waits;
    this.effects = new Effects(this);
  }

  /** Begins to listen to the store, the page and the clock. */
  start(): void {
    const { store, wakes, clock, poll } = this.opts;
    this.#stops.push(
      store.listen((hint) => {
        if (hint === "lost") {
          this.#lost = true;
          this.effects.hangUp(); // at once, whatever the loop is waiting for
          this.kick();
        } else {
          this.look();
        }
      }),
      wakes(() => this.put({ kind: "visible" })),
    );
    const tick = (): void => {
      this.look();
      stop = clock.after(poll, tick);
    };
    let stop = clock.after(poll, tick);
    this.#stops.push(() => stop());
    this.put(...wishes(this));
  }

  /** Gives the machine inputs; false once the client is closed. */
  put(...inputs: readonly Input[]): boolean {
    if (this.over) return false;
    this.#inbox.push(...inputs);
    this.kick();
    return true;
  }

  /** Forgets inputs of connections: a machine to come counts its own from 1. */
  forgetConnections(): void {
    this.#inbox = this.#inbox.filter((i) => !("conn" in i) && i.kind !== "token");
  }

  /** Looks at what other handles did to the store. */
  look(): void {
    this.#looking = true;
    this.kick();
  }

  /** Has the loop run: in a moment, so that what happens together is judged together. */
  kick(): void {
    this.#running ??= Promise.resolve().then(() => this.#loop());
  }

  async #loop(): Promise<void> {
    // At least one step: a timer kicks without an input.
    do {
      const inputs = this.#take();
      try {
        if (this.#lost) await demote(this);
        this.#lost = false;
        if (this.#looking) inputs.push(...(await this.#look()));
        await this.#step(inputs);
      } catch (error) {
        // The machine failed: what it knows is worth nothing any more.
        if (this.m) this.m.broken ??= error;
        this.broken ??= error;
        this.failed(error);
      }
    } while (!this.over && (this.#inbox.length > 0 || this.#looking || this.#lost));
    this.#running = undefined; // at once: what comes from now on must start it anew
  }

  /** Tells of a failure: once, however often what fails is tried again. */
  failed(error: unknown): void {
    const why = String(error);
    if (why !== this.#refused) this.effects.tell({ type: "failed", error });
    this.#refused = why;
  }

  #take(): Input[] {
    const inputs = this.#inbox;
    this.#inbox = [];
    return inputs;
  }

  /** Has the machine judge what happened, and does what it says until nothing is left to be stored. */
  async #step(inputs: Input[]): Promise<void> {
    if (!this.m) return this.#follow(inputs);
    let next = (await reopen(this, inputs)).concat(inputs);
    const m = this.m;
    do {
      const answer = await this.effects.run(m.step(this.opts.clock.now(), next));
      next = answer ? [answer] : [];
      if (this.behind) {
        this.behind = false;
        next.push(...(await this.#reread())); // only now: it must hold all that was stored
      }
      next.push(...this.effects.takeAgain(), ...this.#take());
    } while (next.length > 0);
    this.limits = m.limits;
    this.serverOffset = m.serverOffset ?? this.serverOffset;
    this.broken = m.broken;
    this.#refused = m.broken === undefined ? undefined : String(m.broken); // the machine has told it
    if (isStoreError(m.broken, "fenced")) await demote(this);
  }

  /** Does for the app what needs no machine: stores new rows for the tab that drains the store, and passes its wishes on. */
  async #follow(inputs: readonly Input[]): Promise<void> {
    for (const i of inputs) this.relay?.pass(i);
    const sends = inputs.filter((i): i is Send => i.kind === "send");
    await addAside(
      this,
      sends.map(({ ticket }) => ticket),
    );
  }

  /** All rows as the store has them, for the machine. A store that fails is told of by what it changes. */
  async #reread(): Promise<Input[]> {
    try {
      return [{ kind: "rows", rows: await allRows(this.opts.store) }];
    } catch (error) {
      this.effects.tell({ type: "failed", error });
      return [];
    }
  }

  /** Notices what other handles did to the store, and takes it over where its drainer has ended. */
  async #look(): Promise<Input[]> {
    this.#looking = false;
    const { store } = this.opts;
    let open = true;
    const changed = await store.changed().catch(() => {
      open = false; // a store that fails is told of by what needs it
      return false;
    });
    if (changed) {
      await this.hub.look(store).catch(() => {}); // as above
      this.waits.free();
      this.waits.look();
      this.hub.emit({ type: "changed" });
    }
    // A store that the browser closed may be back: it opens itself anew by the delay law.
    if (this.m && open && isClosedByBrowser(this.broken)) return reopen(this, [{ kind: "connect" }]);
    if (this.m) return changed && this.broken === undefined ? this.#reread() : [];
    try {
      await takeOver(this);
      this.#refused = undefined;
    } catch (error) {
      if (isStoreError(error, "reload")) this.broken = error;
      this.failed(error);
    }
    return wishes(this);
  }

  /** Leaves nothing behind: connections closed, all who wait answered, within `ms` also where the store hangs. */
  async end(ms: number): Promise<void> {
    this.over = true;
    const { hub } = this;
    for (const stop of [...this.#stops, () => this.effects.end(), () => this.relay?.close()]) {
      try {
        stop(); // some of it is the app's
      } catch (error) {
        hub.emit({ type: "threw", error });
      }
    }
    await withinTime(this.opts.clock, ms, this.#running);
    const error = new ClientError("closed", "closed");
    for (const s of this.pending.values()) s.failed(error);
    for (const [ticket, a] of this.asks) a.done({ kind: "answer", ticket, error });
    hub.close();
    this.waits.close();
  }
}

const isClosedByBrowser = (e: unknown): boolean => isStoreError(e, "closed") || isStoreError(e, "unavailable");

/** Waits for something, but no longer than ms. */
export async function withinTime(
  clock: FullOptions["clock"],
  ms: number,
  what: Promise<unknown> | undefined,
): Promise<void> {
  let stop = (): void => {};
  const limit = new Promise<void>((resolve) => {
    stop = clock.after(ms, resolve);
  });
  try {
    await Promise.race([what, limit]);
  } finally {
    stop();
  }
}
