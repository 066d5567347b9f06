import { ClientError } from "../errors.ts";
import { zeroId } from "../ids/id.ts";
import { rowOf } from "../session/rows.ts";
import type { Added, Aside, Body, Counts, Key, Row } from "../store/contract.ts";
import { type Checked, type Content, checkBody, checkId, zero } from "./body.ts";
import { Core, type Waiting } from "./core.ts";
import { outboxPage } from "./takeover.ts";
import { until } from "./until.ts";
import { waitAck } from "./wait_ack.ts";
import type { Receipt, Space } from "./waits.ts";

/** Says why a row was not taken in. */
function refuseAdded(a: Added): void {
  if (a.outcome === "full") throw new ClientError("full", "the outbox is full");
  if (a.outcome === "conflict") throw new ClientError("conflict", "the id names another message");
}

/** Outbox is what a client sends. */
export class Outbox extends Core {
  /**
   * Stores a message and resolves; the client sends it as soon as it may, also after a crash. `id` must come from
   * nextMessageId of this client, each for one send.
   *
   * A refusal leaves no trace: ClientError `zero_id`, `not_issued`, `bad_room`, `bad_body`, `too_large`, `full` (the id may be
   * used again after the last four), `broken`, `closed`; StoreError `quota`. Any other error means that the store failed in
   * the act, and resend with the same id tells whether the row is there.
   */
  async send(room: string, id: string, content: Content): Promise<void> {
    if (id === zeroId) throw zero();
    const key = { room, id };
    const checked = checkBody(key, content, this.limits);
    this.alive();
    this.release(id);
    const a = await this.#post(key, checked);
    if (a.outcome === "full") this.issuer.giveBack(id);
    refuseAdded(a);
  }

  #post(key: Key, { body, fingerprint, size }: Checked): Promise<Added> {
    return new Promise((done, failed) => {
      const ticket = this.ticket();
      this.driver.pending.set(ticket, { key, body, fingerprint, done, failed });
      this.driver.put({ kind: "send", ticket, key, fingerprint, size });
    });
  }

  /** As send, but where the outbox is full it waits until there is room, or the signal ends it with its reason. */
  async sendWait(room: string, id: string, content: Content, { signal }: Waiting = {}): Promise<void> {
    let space: Space | undefined;
    try {
      for (let turn = false; ; turn = true) {
        signal?.throwIfAborted();
        space = this.waits.space(space?.number); // before the attempt, so that none is missed
        try {
          await this.send(room, id, content);
          if (turn) this.waits.free(); // there may be room for more than one
          return;
        } catch (e) {
          if (!(e instanceof ClientError) || e.code !== "full") throw e;
        }
        await until(space.free, signal);
      }
    } finally {
      space?.leave();
    }
  }

  /**
   * The way for an id that nextMessageId of this client didn't give: after a crash between storing and returning, or for ids
   * from elsewhere. Where a row of that key and content is in the outbox it becomes due now; with other content: `conflict`;
   * else a new row is stored. Errors as of send, and `bad_id`.
   */
  async resend(room: string, id: string, content: Content): Promise<void> {
    checkId(id);
    const { body, fingerprint } = checkBody({ room, id }, content, this.limits);
    this.alive();
    const never = { attempts: 0, interval: 0, lastAttemptAt: 0, firstSentAt: 0 };
    const queuedAt = this.opts.clock.now().wall;
    const entry = { room, id, ...body, fingerprint, queuedAt, state: "queued", ...never, dueNow: true } as const;
    const [a] = await this.opts.store.add(0, [entry]);
    refuseAdded(a as Added);
    if (a?.row) this.driver.put({ kind: "rowIs", row: a.row });
  }

  /**
   * The rows by the order in which they were sent. With `bodies` each has its text and data too, so that an app can show what
   * waits; rows that can't be read are left out then, and told by setAside.
   */
  outbox(o?: { readonly bodies?: false }): AsyncGenerator<Row, void, undefined>;
  outbox(o: { readonly bodies: true }): AsyncGenerator<Row & Body, void, undefined>;
  async *outbox({ bodies = false }: { readonly bodies?: boolean } = {}): AsyncGenerator<Row, void, undefined> {
    if (bodies) {
      for await (const [row, body] of this.opts.store.export()) yield { ...row, ...body };
      return;
    }
    for (let after = 0; ; ) {
      const page = await this.opts.store.list(after, outboxPage);
      yield* page;
      if (page.length < outboxPage) return;
      after = (page.at(-1) as Row).position;
    }
  }

  /** Every row of the outbox with its body. */
  export(): AsyncIterable<readonly [Row, Body]> {
    return this.opts.store.export();
  }

  /** The rows of the outbox that can't be read, with their bytes. */
  setAside(): AsyncIterable<Aside> {
    return this.opts.store.setAside();
  }

  /** Figures of the outbox. */
  counts(): Promise<Counts> {
    return this.opts.store.counts();
  }

  /** A row of the outbox, undefined where there is none. */
  row(room: string, id: string): Promise<Row | undefined> {
    return this.opts.store.find({ room, id });
  }

  /**
   * Puts a parked, uncertain, held or waiting row back in line, due now, with the same id and no attempts. For an uncertain
   * one the caller accepts a possible second copy.
   *
   * @throws StoreError `no_row`, `in_flight`
   */
  async retry(room: string, id: string): Promise<void> {
    this.alive();
    const row = await this.opts.store.retry({ room, id }, this.serverTime);
    this.driver.put({ kind: "rowIs", row });
  }

  /**
   * Removes a row that was never sent.
   *
   * @throws StoreError `no_row`; `may_have_been_sent`, which changes nothing
   */
  cancel(room: string, id: string): Promise<void> {
    return this.#remove({ room, id }, "cancel");
  }

  /**
   * Removes a row in whatever state. It may have been accepted, or be accepted still.
   *
   * @throws StoreError `no_row`
   */
  discard(room: string, id: string): Promise<void> {
    return this.#remove({ room, id }, "discard");
  }

  async #remove(key: Key, by: "cancel" | "discard"): Promise<void> {
    this.alive();
    const row = await this.opts.store[by](key);
    this.driver.put({ kind: "rowGone", row });
    this.waits.gone(key);
  }

  /** Lifts the waiting times of one room's rows. Attempts, and what holds the room, stay. */
  tryNow(room: string): void {
    this.driver.put({ kind: "tryNow", room });
  }

  /**
   * Waits until a row of the outbox is confirmed and resolves with what the server made of it.
   *
   * It doesn't depend on the message still being held: of the 100,000 rows confirmed last the store keeps the receipts.
   *
   * @throws ClientError `parked`, `uncertain` where the row steps aside or its room is held (`row` says why), `gone` where it is
   * removed, `no_row` where there is no such row, and no receipt of one, `closed`; the signal's reason
   */
  waitAck(room: string, id: string, { signal }: Waiting = {}): Promise<Receipt> {
    const { m } = this.driver;
    const w = m && rowOf(m, { room, id });
    const known = w?.stored.position ? w.row : undefined;
    return waitAck(this.opts.store, this.hub, this.waits, { room, id }, known, signal);
  }
}
