/** TableStore: the contract over the tables of a medium. */

import { apply } from "./apply.ts";
import type { Change, Result } from "./change.ts";
import { checkChanges } from "./check.ts";
import type { Feed, Message, Room, Store } from "./contract.ts";
import { StoreError } from "./errors.ts";
import { type Beat, sameBeat } from "./head.ts";
import { forget, forgetAll, type StoredMessage, stored } from "./messages.ts";
import { Outbox } from "./outbox.ts";
import type { Row } from "./row.ts";
import { evictable, requeue } from "./rule.ts";
import { type Query, within } from "./tables.ts";
import type { Transaction } from "./transaction.ts";
import { type Held, isBounded, trim } from "./trim.ts";

export class TableStore extends Outbox implements Store {
  /** Found sending by the last drain. */
  #doubt: readonly number[] = [];
  /** How much rooms hold, where they are bounded, and as of which count of other handles' changes. */
  readonly #held = new Map<string, Held>();
  #heldAt = -1;

  async drain(): Promise<number> {
    await this.read(async () => {}); // closed, damaged: told before the lock is asked for
    const taken = this.draining ? undefined : await this.lock.take();
    if (!taken) throw new StoreError("draining", "another handle drains it");
    let doubt: readonly number[] = [];
    try {
      const fence = await this.write(async (t) => {
        const beat = (await t.tables.get("meta", "beat")) as Beat | undefined;
        if (taken.judged && !sameBeat(beat, taken.after)) {
          throw new StoreError("draining", "its drainer is alive");
        }
        const sending = await t.rows({ index: "state", lower: "sending", upper: "sending" });
        for (const r of sending) t.update(r, requeue(r));
        doubt = sending.map((r) => r.position);
        t.put("meta", { name: "beat", fence: t.head.fence + 1, n: 0, hidden: false, free: false } satisfies Beat);
        return ++t.head.fence;
      });
      if (taken.steal && !(await taken.steal())) throw new StoreError("draining", "another handle took the lock");
      this.begin(fence);
      this.#doubt = doubt;
      return fence;
    } catch (e) {
      this.lock.free();
      throw e;
    }
  }

  inDoubt(): readonly number[] {
    return this.#doubt;
  }

  async undrain(): Promise<void> {
    this.tryNow(); // the way to open it anew at the app's wish leads here
    await this.read(async () => {});
    if (this.stop() !== 0) this.lock.free();
  }

  async apply(fence: number, changes: readonly Change[]): Promise<Result[]> {
    checkChanges(changes);
    const bodies = await Promise.all(
      changes.map((c) =>
        Promise.all(
          "messages" in c
            ? c.messages.map((m) => this.sealer.body("message", { room: m.room, id: m.messageId }, m))
            : [],
        ),
      ),
    );
    return this.drained(fence, async (t) => {
      const results: Result[] = [];
      for (const [i, c] of changes.entries()) results.push(await apply(t, c, bodies[i]!));
      await t.forgetReceipts();
      await this.#trim(t);
      return results;
    });
  }

  /** Keeps rooms within their bounds. How much each holds is counted once, and then kept, as long as no other handle changes anything. */
  async #trim(t: Transaction): Promise<void> {
    if (!isBounded(this.limits) || t.grown.size === 0) return;
    const others = this.changesByOthers(t);
    if (others !== this.#heldAt) this.#held.clear();
    const known = new Map(this.#held);
    this.#held.clear(); // counted anew where this transaction fails
    this.#heldAt = others;
    for (const [room, held] of await trim(t, this.limits, known)) known.set(room, held);
    t.onDone = () => {
      for (const [room, held] of known) this.#held.set(room, held);
    };
  }

  evict(fence: number, now: number): Promise<Row[]> {
    return this.drained(fence, async (t) => {
      const aside = await Promise.all(
        ["parked", "uncertain"].map((s) => t.rows({ index: "state", lower: s, upper: s })),
      );
      const gone = evictable(this.limits, aside.flat(), now);
      for (const r of gone) t.remove(r);
      t.head.evicted += gone.length;
      return gone;
    });
  }

  room(room: string): Promise<Room | undefined> {
    return this.read(async (t) => (await t.tables.get("cursors", room)) as Room | undefined);
  }

  rooms(): Promise<Room[]> {
    return this.read(async (t) => (await t.tables.all("cursors", {})) as Room[]);
  }

  async feed(room: string, after: number, limit: number): Promise<Feed> {
    const from = Math.max(after, 0);
    const [found, rooms] = await this.read(async (t) => {
      const q: Query =
        room === ""
          ? { index: "feed", lower: from, open: true, limit }
          : { index: "roomFeed", ...within(room), lower: [room, from], open: true, limit };
      const views = room === "" ? await t.tables.all("cursors", {}) : [await t.tables.get("cursors", room)];
      return [await stored(t, q), views as (Room | undefined)[]] as const;
    });
    const trimmed = rooms.flatMap((r) => (r?.trimmed && r.trimmed.position > from ? r.trimmed : []));
    return { messages: await this.#open(found), trimmed };
  }

  async view(room: string, before: number, limit: number): Promise<Message[]> {
    const upper = before > 0 ? [room, before] : within(room).upper;
    return (await this.#messages({ index: "seq", lower: [room], upper, limit, reverse: true })).reverse();
  }

  /** Reads messages. One that can't be read is set aside: it must not hide the others. */
  async #messages(q: Query): Promise<Message[]> {
    return this.#open(await this.read((t) => stored(t, q)));
  }

  async #open(found: readonly StoredMessage[]): Promise<Message[]> {
    const opened = await Promise.all(found.map((m) => this.#openMessage(m)));
    return opened.filter((m) => m !== undefined);
  }

  async #openMessage(m: StoredMessage): Promise<Message | undefined> {
    const { room, epoch, seq, messageId, actor, clientMessageId, at } = m;
    try {
      const { text, data } = await this.sealer.openBody(m, room, clientMessageId, messageId);
      return { position: m.position ?? 0, room, epoch, seq, messageId, actor, clientMessageId, text, data, at };
    } catch (e) {
      await this.write(async (t) => t.setAside("messages", [room, messageId], `message ${messageId}: ${String(e)}`, m));
      return undefined;
    }
  }

  forget(room: string): Promise<void> {
    return this.write(async (t) => {
      if (room === "") await forgetAll(t);
      else await forget(t, room);
      t.onDone = () => (room === "" ? this.#held.clear() : this.#held.delete(room));
    });
  }
}
