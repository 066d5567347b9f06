/** Random histories on a store and on the model, compared after each step. */

import fc from "fast-check";
import type { Arrived, Change, Entry, Store } from "../../../src/store/contract.ts";
import { checkCancel, requeue, retry, step as stepped } from "../../../src/store/rule.ts";
import { Model } from "./model.ts";
import {
  type Case,
  confirm,
  cursor,
  entry,
  equal,
  foreign,
  messageId,
  type Suite,
  sending,
  type TestMedium,
  text,
} from "./suite.ts";

const limits = { queued: 6, aside: 3, asideAge: 50 };
const kinds = [
  ...["add", "add", "add", "move", "move", "move", "confirm", "rows", "rows", "snapshot", "outside", "outside"],
  ...["drain", "drain", "undrain", "evict", "reserve", "forget", "crash"],
] as const;

/** One thing to do: what, and numbers that it takes its choices from. */
interface Op {
  readonly kind: (typeof kinds)[number];
  readonly n: readonly number[];
}

const ops = fc.array(
  fc.record({ kind: fc.constantFrom(...kinds), n: fc.array(fc.nat(1000), { minLength: 12, maxLength: 12 }) }),
  { minLength: 10, maxLength: 40 },
);

/** One history. */
class History {
  #n: number[] = [];
  #fence = 0;
  #clock = 0;
  #leases = new Set<bigint>();
  #reserved = 0;
  readonly #model = new Model(limits);
  #medium: TestMedium;
  #st: Store;
  #other: Store;

  private constructor(medium: TestMedium, st: Store, other: Store) {
    this.#medium = medium;
    this.#st = st;
    this.#other = other;
  }

  static async run(medium: TestMedium, list: readonly Op[]): Promise<void> {
    const h = new History(medium, await medium.open(limits), await medium.open(limits));
    try {
      await h.#st.bind({ actor: "a", server: "s" });
      for (const op of list) {
        h.#clock++;
        h.#n = [...op.n];
        await h.#step(op.kind);
        await h.#compare();
      }
    } finally {
      await h.#st.close();
      await h.#other.close();
    }
  }

  #pick(below: number): number {
    return this.#n.pop()! % below;
  }

  #room = () => (this.#pick(2) === 0 ? "r" : "s");

  #entry(): Entry {
    const e = entry(this.#room(), 1 + this.#pick(9));
    return this.#pick(2) === 0 ? e : { ...e, fingerprint: `${e.fingerprint}x` };
  }

  async #step(kind: Op["kind"]): Promise<void> {
    switch (kind) {
      case "add": {
        const entries = [{ ...this.#entry(), dueNow: this.#pick(2) === 0 }, this.#entry()];
        const added = await (this.#pick(2) === 0 ? this.#st : this.#other).add(0, entries);
        return equal(
          "added",
          added,
          entries.map((e) => this.#model.add(e)),
        );
      }
      case "outside":
        return this.#outside();
      case "reserve": {
        const l = await this.#other.reserve(this.#other.device, 3, 0n);
        for (let o = l.start; o < l.start + 3n; o++) this.#leases.add(o);
        return equal("ordinals", this.#leases.size, 3 * ++this.#reserved);
      }
      case "drain":
        return this.#drain();
      case "undrain":
        this.#fence = 0;
        return this.#st.undrain();
      case "forget": {
        const room = this.#room();
        this.#model.views.delete(room);
        return this.#st.forget(room);
      }
      case "crash":
        return this.#crash();
      default:
        if (this.#fence === 0) await this.#drain();
        return this.#drained(kind);
    }
  }

  async #crash(): Promise<void> {
    this.#medium = await this.#medium.crashed();
    await this.#st.close();
    await this.#other.close();
    this.#st = await this.#medium.open(limits);
    this.#other = await this.#medium.open(limits);
    this.#fence = 0;
  }

  async #drain(): Promise<void> {
    if (this.#fence !== 0) return this.#same("draining twice", this.#st.drain(), () => fail("draining"));
    this.#fence = await this.#st.drain();
    this.#model.rows = this.#model.rows.map((r) => (r.state === "sending" ? requeue(r) : r));
  }

  /** What a tab that doesn't drain does. */
  #outside(): Promise<void> {
    const k = this.#entry();
    const i = this.#model.find(k);
    const row = () => this.#model.rows[i] ?? fail("no_row");
    switch (this.#pick(3)) {
      case 0:
        return this.#same("cancel", this.#other.cancel(k), () => {
          checkCancel(row());
          return this.#model.rows.splice(i, 1)[0];
        });
      case 1:
        return this.#same("discard", this.#other.discard(k), () => row() && this.#model.rows.splice(i, 1)[0]);
      default:
        return this.#same("retry", this.#other.retry(k, this.#clock), () => {
          this.#model.rows[i] = retry(row(), this.#clock);
          return this.#model.rows[i];
        });
    }
  }

  /** Compares what a call gives or is refused with to what the model says. */
  async #same(what: string, got: Promise<unknown>, want: () => unknown): Promise<void> {
    const code = (e: { code?: string }) => `refused: ${e.code}`;
    let wanted: unknown;
    try {
      wanted = want();
    } catch (e) {
      wanted = code(e as { code?: string });
    }
    equal(what, await got.catch(code), wanted);
  }

  async #drained(kind: Op["kind"]): Promise<void> {
    const m = this.#model;
    switch (kind) {
      case "evict":
        return equal("evicted", await this.#st.evict(this.#fence, this.#clock), m.evict(this.#clock));
      case "move": {
        if (m.rows.length === 0) return;
        const i = this.#pick(m.rows.length);
        const to = (["queued", "sending", "parked", "uncertain"] as const)[this.#pick(4)]!;
        const aside = to === "parked" || to === "uncertain" ? { asideAt: this.#clock, reason: "reason" } : {};
        const c = { ...sending(m.rows[i]!), to, ...aside };
        const stale = { ...c, revision: c.revision - this.#pick(2) };
        const row = stepped(stale, m.rows[i]!);
        m.rows[i] = row ?? m.rows[i]!;
        return this.#apply(stale, row !== undefined);
      }
      case "confirm": {
        const c = { ...confirm(this.#entry(), 1 + this.#pick(8)), at: this.#clock };
        return this.#apply(c, m.confirm(c));
      }
      case "rows":
        return this.#rows();
      default: {
        const [room, head] = [this.#room(), 1 + this.#pick(8)];
        const epoch = this.#pick(2) === 0 ? "e" : "f";
        const messages = this.#arrived(room, epoch, Math.max(1, head - 2), head);
        const c = { kind: "snapshot", room, cursor: { ...cursor(head), epoch }, messages, now: this.#clock } as const;
        m.replace(c);
        return this.#apply(c, true);
      }
    }
  }

  #rows(): Promise<void> {
    const room = this.#room();
    const held = this.#model.views.get(room)?.cursor;
    const from = held && this.#pick(5) !== 0 ? held : cursor(1 + this.#pick(8));
    const to = { ...from, after: from.after + 2, messageId: messageId(from.after + 2) };
    const messages = this.#arrived(room, from.epoch, from.after + 1, from.after + 2);
    const c = { kind: "rows", room, from, to, messages, now: this.#clock } as const;
    return this.#apply(c, this.#model.advance(c));
  }

  /** Rows, some of them own ones. */
  #arrived(room: string, epoch: string, from: number, to: number): Arrived[] {
    const used = new Set<string>();
    return foreign(room, from, to).map((row) => {
      const e = entry(room, 1 + this.#pick(9));
      if (this.#pick(2) === 0 || used.has(e.id)) return { ...row, epoch };
      used.add(e.id);
      const fingerprint = row.seq % 2 === 0 ? e.fingerprint : `${e.fingerprint}x`;
      return { ...row, epoch, clientMessageId: e.id, fingerprint, data: e.data };
    });
  }

  async #apply(c: Change, want: boolean): Promise<void> {
    const [res] = await this.#st.apply(this.#fence, [c]);
    equal(`applied ${text(c)}`, res!.applied, want);
  }

  /** Reads everything through the other handle. */
  async #compare(): Promise<void> {
    const [st, m] = [this.#other, this.#model];
    const rows = await st.list(0, 100);
    equal("rows", rows, m.rows);
    for (const r of rows) equal("body", await st.body(r.position), m.bodies.get(r.position));
    equal("counts", await st.counts(), m.counts());
    equal(
      "feed",
      (await st.feed("", 0, 1000)).messages,
      m.messages(
        (o) => o.position > 0,
        (a, b) => a.position - b.position,
      ),
    );
    for (const room of ["r", "s"]) {
      const bySeq = m.messages(
        (o) => o.room === room,
        (a, b) => a.seq - b.seq || (a.messageId < b.messageId ? -1 : 1),
      );
      equal("view", await st.view(room, 0, 1000), bySeq);
      const v = m.views.get(room);
      equal("room", await st.room(room), v?.cursor && { room, cursor: v.cursor, replaced: v.replaced });
    }
  }
}

function fail(code: string): never {
  throw Object.assign(new Error(code), { code });
}

/** Each history has up to 40 steps. The seed is fixed, so that a run can be had again. */
async function randomHistories(s: Suite) {
  await fc.assert(
    fc.asyncProperty(ops, async (list) => History.run(await s.empty(), list)),
    { numRuns: s.runs, seed: 1 },
  );
}

export const random: readonly Case[] = [["random histories", randomHistories]];
