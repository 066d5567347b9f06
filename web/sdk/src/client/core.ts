import { brokenError, ClientError } from "../errors.ts";
import { zeroId } from "../ids/id.ts";
import { Issuer } from "../ids/issuer.ts";
import { randomJump } from "../ids/lease.ts";
import type { Signal } from "../platform.ts";
import type { defaultLimits } from "../protocol/frames.ts";
import type { ClientEvent, ConnectionChanged, Stats } from "../session/event.ts";
import type { Report } from "../store/contract.ts";
import { zero } from "./body.ts";
import { Driver, withinTime } from "./driver.ts";
import { Hub, type Stop } from "./hub.ts";
import type { FullOptions, TokenSource } from "./options.ts";
import { Relay } from "./relay.ts";
import { takeOver } from "./takeover.ts";
import { Waits } from "./waits.ts";

/** How long close waits for the store's work under way, and then for the store's own end, ms: together less than a second. */
const endWithin = 450;

/** The signal that ends waiting, with its reason. */
export interface Waiting {
  readonly signal?: Signal;
}

/** Core is what a client is beside its outbox and rooms: its ids, its connection, its events, its end. */
export class Core {
  /** @internal */
  protected readonly opts: FullOptions;
  /** @internal */
  protected readonly hub = new Hub();
  /** @internal */
  protected readonly waits: Waits;
  /** @internal */
  protected readonly issuer = new Issuer();
  /** @internal */
  protected readonly driver: Driver;
  #token: string | TokenSource;
  #renewing = false;
  #tickets = 0;
  #closing: Promise<void> | undefined;

  /** @internal Use open. */
  constructor(opts: FullOptions) {
    this.#token = opts.token;
    this.opts = { ...opts, token: () => (typeof this.#token === "function" ? this.#token() : this.#token) };
    this.waits = new Waits(opts.store);
    this.driver = new Driver(this.opts, this.hub, this.waits);
  }

  /** @internal Called by open, once. */
  async begin(): Promise<void> {
    const d = this.driver;
    await this.#reserve();
    await takeOver(d);
    const channel = this.opts.channel(`hapax:client:${this.device}`);
    if (channel) d.relay = new Relay(d, channel, () => this.ticket());
    d.connect = !this.opts.offline;
    d.start();
  }

  async #reserve(): Promise<void> {
    const { store, lease } = this.opts;
    this.issuer.addLease(await store.reserve(store.device, lease, randomJump()));
  }

  /** Reserves ahead, in the background. */
  #renew(): void {
    if (this.#renewing || !this.issuer.needsLease) return;
    this.#renewing = true;
    this.#reserve()
      .catch((error) => this.#closing ?? this.hub.emit({ type: "failed", error }))
      .finally(() => {
        this.#renewing = false;
      });
  }

  /** @internal Numbers a request to the machine. */
  protected ticket(): number {
    return ++this.#tickets;
  }

  /** @internal Refuses where the client is closed, or its store failed. */
  protected alive(store = true): void {
    if (this.#closing) throw new ClientError("closed", "closed");
    const cause = this.driver.broken;
    if (store && cause !== undefined) throw brokenError(cause);
  }

  /** The 128 random bits made with the store, as 32 hex digits: another one means another store, in which no position of the first holds. */
  get device(): string {
    return Array.from(this.opts.store.device, (b) => b.toString(16).padStart(2, "0")).join("");
  }

  /** What opening the store found and did. */
  get report(): Report {
    return this.opts.store.report;
  }

  /** The connection's state, its cause where there is one, and the ms to the next try as of when it was told. */
  get state(): ConnectionChanged {
    return this.driver.state;
  }

  /** Whether this client sends what the store holds. Another tab that does is taken over when it ends. */
  get drains(): boolean {
    return this.driver.m !== undefined;
  }

  /** What the server lets through, the protocol's own limits before the first welcome. Sizes are bytes. */
  get limits(): typeof defaultLimits {
    return this.driver.limits;
  }

  /** What this client has counted since it took over the store; undefined while another tab drains it. */
  get stats(): Stats | undefined {
    return this.driver.m?.stats();
  }

  /** The server's time in ms, or the wall clock's before the first welcome. */
  get serverTime(): number {
    const { wall, mono } = this.opts.clock.now();
    const { serverOffset } = this.driver;
    return Math.max(1, serverOffset === undefined ? wall : serverOffset + mono);
  }

  /**
   * Issues an id for send: 32 hex digits. It needs neither disk nor network. It returns the zero id (`zeroId`), which is never
   * valid, where none can be had: 256 are issued and neither used nor released, the next lease isn't reserved yet, or the
   * client is closed.
   */
  nextMessageId(): string {
    if (this.#closing) return zeroId;
    const id = this.issuer.next();
    this.#renew();
    return id;
  }

  /**
   * Gives up an issued id that will not be sent, so that it no longer counts as unused.
   *
   * @throws ClientError `zero_id`, `not_issued`
   */
  release(id: string): void {
    if (id === zeroId) throw zero();
    if (!this.issuer.use(id))
      throw new ClientError("not_issued", "the id was not issued here, or was used or released before");
  }

  /**
   * Asks for a connection: after `Options.offline` or disconnect, after gave_up, at once while a delay runs, and after a
   * failure of the store, which is opened anew.
   */
  connect(): void {
    this.driver.connect = true;
    this.driver.put({ kind: "connect" });
  }

  /** Ends the connection until connect. Rows stay in the outbox. */
  disconnect(): void {
    this.driver.connect = false;
    this.driver.put({ kind: "disconnect" });
  }

  /** Replaces the token, or what gives one; the session is renewed with it, held rooms go on. */
  setToken(token: string | TokenSource): void {
    this.#token = token;
    this.newToken();
  }

  /** Says that the token's source has another one to give: the session is renewed with it, held rooms go on. */
  newToken(): void {
    this.driver.put({ kind: "newToken" });
  }

  /** Says that the app came to the front: a wait to reconnect ends, no counter goes back. In a page it is noticed by itself. */
  visible(): void {
    this.driver.put({ kind: "visible" });
  }

  /**
   * Calls f with each event of a type from now on, until the function returned is called or the client ends. f may call any
   * method of the client, and throw: that is told by a `threw` event, and costs no other event or row.
   */
  on<T extends ClientEvent["type"]>(type: T, f: (e: Extract<ClientEvent, { type: T }>) => void): Stop {
    return this.hub.listen((e) => {
      if (e.type === type) f(e as Extract<ClientEvent, { type: T }>);
    });
  }

  /** Calls f with each event from now on; as on. */
  listen(f: (e: ClientEvent) => void): Stop {
    return this.hub.listen(f);
  }

  /**
   * The events from now on, until the signal or the client ends. A reader that is more than 1,024 events behind misses
   * some, and a `missed` event counts them.
   */
  events({ signal }: Waiting = {}): AsyncIterableIterator<ClientEvent> {
    return this.hub.events(signal);
  }

  /** Ends the client within a second, whatever it is doing, and closes the store. What send accepted stays there. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    try {
      await this.driver.end(endWithin);
    } finally {
      await withinTime(this.opts.clock, endWithin, this.opts.store.close());
    }
  }
}
