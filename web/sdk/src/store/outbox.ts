/** Outbox: what any handle may do with rows, and the marks. */

import { checkEntries, checkOwner } from "./check.ts";
import type { Aside, Counts, Lease, Owner, Receipt } from "./contract.ts";
import { StoreError } from "./errors.ts";
import { Handle } from "./handle.ts";
import { actorOf } from "./owner.ts";
import type { Added, Body, Entry, Key, Row } from "./row.ts";
import { admit, checkCancel, markOf, ordinalOf, reserve, retry } from "./rule.ts";
import { asJson, hex } from "./text.ts";
import type { StoredRow, Transaction } from "./transaction.ts";

/** How many rows an export holds at once. */
const exportPage = 64;

/** Outbox holds the methods of Store that need no fence. */
export class Outbox extends Handle {
  owner(): Promise<Owner | undefined> {
    return this.read(
      async ({ head: { owner, actor } }) => owner ?? (actor === undefined ? undefined : { actor, server: "" }),
    );
  }

  async bind({ actor, server }: Owner): Promise<void> {
    checkOwner({ actor, server });
    await this.write(async (t) => {
      const have = t.head.owner;
      if ((actorOf(t.head) ?? actor) !== actor || (have && have.server !== server)) {
        throw new StoreError("wrong_store", "belongs to another actor or server");
      }
      if (have) return;
      t.head.owner = { actor, server };
      t.dirty = true;
    });
  }

  reserve(device: Uint8Array, n: number, jump: bigint): Promise<Lease> {
    return this.write(async (t) => {
      const name = hex(device);
      const raw = (await t.tables.get("marks", name)) as { mark: unknown } | undefined;
      if (!raw && name === hex(this.device)) throw new StoreError("corrupt", "its device has no mark; no ids");
      const lease = reserve(device, raw ? ordinalOf(raw.mark) : 0n, n, jump);
      t.put("marks", { device: name, mark: markOf(lease.start + BigInt(n) - 1n) });
      return lease;
    });
  }

  async add(fence: number, entries: readonly Entry[]): Promise<Added[]> {
    checkEntries(fence, entries);
    const sealed = await Promise.all(
      entries.map(
        async (e) => [await this.sealer.fingerprint(e, e.fingerprint), await this.sealer.body("body", e, e)] as const,
      ),
    );
    const add = async (t: Transaction) => {
      const added: Added[] = [];
      for (const [i, e] of entries.entries()) {
        const have = await t.byKey(e);
        const queued = t.head.rows.queued + t.head.rows.sending;
        const [a, write] = admit(e, have, queued, this.limits.queued, t.head.position + 1);
        if (write && have) t.update(have, a.row!);
        else if (write) t.insert(a.row!, ...sealed[i]!);
        added.push(a);
      }
      return added;
    };
    return fence === 0 ? this.write(add) : this.drained(fence, add);
  }

  async list(after: number, limit: number): Promise<Row[]> {
    return this.read((t) => t.rows({ lower: after, open: true, limit }));
  }

  find(key: Key): Promise<Row | undefined> {
    return this.read((t) => t.byKey(key));
  }

  receipt({ room, id }: Key): Promise<Receipt | undefined> {
    return this.read(async (t) => {
      const r = (await t.tables.get("receipts", [room, id])) as Receipt | undefined;
      return r && { room, id, messageId: r.messageId, seq: r.seq, epoch: r.epoch, at: r.at };
    });
  }

  async body(position: number): Promise<Body> {
    const [row, raw] = await this.read(
      async (t) => [await t.row(position), await t.tables.get("bodies", position)] as const,
    );
    if (!row) throw new StoreError("no_row", "no such row in the outbox");
    const body = await this.#open(row, raw);
    if (!body) throw new StoreError("unreadable", "the row can't be read and was set aside");
    return body;
  }

  /** Opens a row's body; one that can't be read goes aside with its row. */
  async #open(row: Row, raw: unknown): Promise<Body | undefined> {
    try {
      return await this.sealer.openBody(raw, row.room, row.id, "");
    } catch (e) {
      await this.write(async (t) => {
        const there = await t.tables.get("outbox", row.position);
        if (there) await t.setRowAside(there as StoredRow, `body: ${String(e)}`);
      });
      return undefined;
    }
  }

  async *export(): AsyncIterable<readonly [Row, Body]> {
    for (let after = 0; ; ) {
      const page = await this.read(async (t) => {
        const rows = await t.rows({ lower: after, open: true, limit: exportPage });
        return Promise.all(rows.map(async (r) => [r, await t.tables.get("bodies", r.position)] as const));
      });
      if (page.length === 0) return;
      for (const [row, raw] of page) {
        const body = await this.#open(row, raw);
        if (body) yield [row, body];
      }
      after = page.at(-1)![0].position;
    }
  }

  async *setAside(): AsyncIterable<Aside> {
    for (let after = 0; ; after++) {
      const found = await this.read((t) => t.tables.all("aside", { lower: after, open: true, limit: 1 }));
      if (found.length === 0) return;
      const { n, table, why, value } = found[0] as { n: number; table: string; why: string; value: unknown };
      yield { table, why, row: asJson(value) };
      after = n - 1;
    }
  }

  counts(): Promise<Counts> {
    return this.read(async ({ head: { rows, evicted } }) => ({
      queued: rows.queued + rows.sending,
      sending: rows.sending,
      parked: rows.parked,
      uncertain: rows.uncertain,
      setAside: rows.aside,
      evicted,
    }));
  }

  cancel(key: Key): Promise<Row> {
    return this.#change(key, (t, row) => {
      checkCancel(row);
      t.remove(row);
      return row;
    });
  }

  retry(key: Key, sentAt: number): Promise<Row> {
    return this.#change(key, (t, row) => {
      const again = retry(row, sentAt);
      t.update(row, again);
      return again;
    });
  }

  discard(key: Key): Promise<Row> {
    return this.#change(key, (t, row) => {
      t.remove(row);
      return row;
    });
  }

  #change(key: Key, f: (t: Transaction, row: Row) => Row): Promise<Row> {
    return this.write(async (t) => {
      const row = await t.byKey(key);
      if (!row) throw new StoreError("no_row", "no such row in the outbox");
      return f(t, row);
    });
  }
}
