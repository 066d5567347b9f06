/** Opening: what every handle checks and mends before it is used, whatever its medium. */

import type { SealKey } from "../platform.ts";
import { states } from "./check.ts";
import { defaultLimits, type Limits, type Report } from "./contract.ts";
import { StoreError } from "./errors.ts";
import { type Head, parseHead } from "./head.ts";
import type { Lock } from "./lock.ts";
import type { StoredMessage } from "./messages.ts";
import { type Claimant, claims } from "./owner.ts";
import { bodyOf, Sealer } from "./seal.ts";
import { TableStore } from "./store.ts";
import type { Medium, Tables } from "./tables.ts";
import { type StoredRow, Transaction, unreadable } from "./transaction.ts";

/** Options of every store. */
export interface StoreOptions extends Claimant {
  /** Fields left out have their default. */
  readonly limits?: Partial<Limits>;
  /**
   * An AES-GCM key of 256 bits with the uses encrypt and decrypt; it may, and should, be one that can't be extracted.
   * Bodies are sealed with it. An empty store is sealed by its first key; opened with another key, or without one, it
   * answers `wrong_key` and nothing changes.
   */
  readonly key?: SealKey | undefined;
  /**
   * Seals a store that holds bodies in the clear, all in one transaction. Without it such a store is refused with
   * `not_encrypted`: who can write the database could have put them there, to be sent as if the app had.
   */
  readonly encrypt?: boolean | undefined;
}

/** Opens a handle on a medium that has this SDK's version. */
export async function openTables(medium: Medium, lock: Lock, o: StoreOptions, report: Report): Promise<TableStore> {
  const sealer = new Sealer(o.key);
  const found = await headOf(medium);
  const claiming = claims(found, o);
  await sealer.check(found.keyCheck);
  if (o.key) await sealAll(medium, sealer, o.encrypt === true);
  if (claiming) await note(medium, o);
  const keyCheck = (await headOf(medium)).keyCheck;
  const setAside = report.setAside + (await mend(medium, sealer, keyCheck));
  const head = await headOf(medium);
  return new TableStore({
    medium,
    lock,
    limits: { ...defaultLimits, ...o.limits },
    sealer,
    keyCheck,
    device: Uint8Array.from(head.device!),
    report: { ...report, setAside },
    changes: head.changes,
  });
}

const readHead = async (t: Tables): Promise<Head> => parseHead(await t.get("meta", "head"));

const headOf = (m: Medium): Promise<Head> => m.run("readonly", readHead);

/** Notes whose the store is, unless another handle was first. */
function note(medium: Medium, o: Claimant): Promise<void> {
  return medium.run("readwrite", async (t) => {
    const head = await readHead(t);
    if (claims(head, o)) t.put("meta", { ...head, actor: o.actor, changes: head.changes + 1 });
  });
}

const allRows = async (t: Tables) => (await t.all("outbox", {})) as StoredRow[];

/**
 * Seals a store that is empty, or that may be sealed: read whole, sealed, and written in one transaction, in which nothing may have changed since. Done
 * once in a store's life. Values that can't be read as plain ones stay, to be set aside.
 */
async function sealAll(medium: Medium, sealer: Sealer, allowed: boolean): Promise<void> {
  for (;;) {
    const plain = await medium.run("readonly", async (t) => ({
      head: await readHead(t),
      rows: await allRows(t),
      bodies: new Map((await t.all("bodies", {})).map((b) => [(b as { position: number }).position, b])),
      messages: (await t.all("messages", {})) as StoredMessage[],
    }));
    if (plain.head.keyCheck) return;
    if (!allowed && plain.rows.length + plain.messages.length > 0)
      throw new StoreError("not_encrypted", "it holds bodies that are not encrypted, and a key was given");
    const open = new Sealer(undefined);
    const rows = plain.rows.map(async (r) => {
      if (unreadable(r)) return [];
      const body = await open.openBody(plain.bodies.get(r.position), r.room, r.id, "").catch(() => undefined);
      const fingerprint = await sealer.fingerprint(r, r.fingerprint as string);
      return [r, fingerprint, body && (await sealer.body("body", r, body))] as const;
    });
    const messages = plain.messages.map(async (m) => {
      const body = await open.openBody(m, m.room, m.clientMessageId, m.messageId).catch(() => undefined);
      if (!body) return [];
      const { text: _, data: __, ...rest } = m as StoredMessage & { text?: unknown; data?: unknown };
      return [{ ...rest, ...bodyOf(await sealer.body("message", { room: m.room, id: m.messageId }, body)) }] as const;
    });
    const [sealedRows, sealedMessages, keyCheck] = await Promise.all([
      Promise.all(rows),
      Promise.all(messages),
      sealer.keyCheck(),
    ]);
    const done = await medium.run("readwrite", async (t) => {
      const head = await readHead(t);
      if (head.changes !== plain.head.changes) return false;
      for (const [r, fingerprint, body] of sealedRows) {
        if (r) t.put("outbox", { ...r, fingerprint });
        if (r && body) t.put("bodies", { position: r.position, ...body });
      }
      for (const [m] of sealedMessages) if (m) t.put("messages", m);
      t.put("meta", { ...head, keyCheck, changes: head.changes + 1 });
      return true;
    });
    if (done) return;
  }
}

/**
 * Moves outbox rows that can't be read to the table aside, and answers how many; and makes the head's counts those of the
 * rows. Bodies are read when they are needed.
 */
async function mend(medium: Medium, sealer: Sealer, keyCheck: Uint8Array | undefined): Promise<number> {
  const bad = new Map<number, string>();
  // Looked at without writing first, as nearly always there is nothing to do.
  const found = await medium.run("readonly", async (t) => ({ rows: await allRows(t), head: await readHead(t) }));
  for (const r of found.rows) {
    const fingerprint = unreadable(r) ? "" : await sealer.openFingerprint(r, r.fingerprint).catch(() => undefined);
    const why = unreadable(r) ?? (fingerprint === undefined ? "its fingerprint doesn't open" : undefined);
    if (why) bad.set(r.position, why);
  }
  const wrong = states.some((s) => found.head.rows[s] !== found.rows.filter((r) => r.state === s).length);
  if (bad.size === 0 && !wrong) return 0;
  return medium.run("readwrite", async (tables) => {
    const t = await Transaction.begin(tables, new Map(), keyCheck);
    let n = 0;
    for (const [position, why] of bad) {
      const raw = (await tables.get("outbox", position)) as StoredRow | undefined;
      if (!raw) continue;
      await t.setRowAside(raw, why);
      n++;
    }
    const rows = await allRows(tables);
    for (const s of states) t.head.rows[s] = rows.filter((r) => r.state === s).length;
    t.dirty = true;
    t.end();
    return n;
  });
}
