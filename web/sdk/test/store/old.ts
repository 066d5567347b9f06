/**
 * Stores of earlier versions, kept as files: what a migration must read is what was really written. Those of a version were
 * made once by `HAPAX_WRITE_OLD=1 npx vitest run test/store/migrate.test.ts` (its number), with the code of that version.
 *
 * - plain.json: rows in every state, messages, cursors
 * - sealed.json: the same, bodies sealed with the key of help/key.ts
 * - damaged.json: as plain.json, with three rows that can't be read
 */

import { readFile, writeFile } from "node:fs/promises";
import { connect } from "../../src/store/connect.ts";
import { defaultLimits } from "../../src/store/contract.ts";
import { Database } from "../../src/store/database.ts";
import { MemoryMedium } from "../../src/store/memory.ts";
import { build } from "../../src/store/schema.ts";
import { Sealer } from "../../src/store/seal.ts";
import { TableStore } from "../../src/store/store.ts";
import { type Dump, decode, dump, encode, tamper } from "../help/dump.ts";
import { sealKey } from "../help/key.ts";
import { nodeEnv } from "../help/node.ts";
import { add, apply, confirm, cursor, entry, foreign, sending, step } from "./suite/suite.ts";

const file = (version: number, name: string) => new URL(`./testdata/v${version}/${name}`, import.meta.url);

export const readOld = async (name: string, version = 1): Promise<Dump> =>
  decode(await readFile(file(version, name), "utf8"));

/** Makes the files of a version anew. */
export async function writeOld(version: number): Promise<void> {
  for (const name of ["plain.json", "sealed.json", "damaged.json"]) {
    const env = nodeEnv();
    const db = await connect(env, name, undefined, (d, t) => build(d, t, env.IDBKeyRange!, version));
    const medium = new Database(db!, env, () => {});
    const sealer = new Sealer(name === "sealed.json" ? await sealKey() : undefined);
    const keyCheck = await sealer.keyCheck();
    await medium.run("readwrite", async (t) =>
      t.put("meta", { ...((await t.get("meta", "head")) as object), keyCheck }),
    );
    const report = { created: true, from: version, to: version, setAside: 0 };
    const lock = new MemoryMedium().lock();
    const st = new TableStore({
      medium,
      lock,
      limits: defaultLimits,
      sealer,
      keyCheck,
      device: new Uint8Array(16),
      report,
      changes: 0,
    });
    await fill(st);
    await st.close();
    if (name === "damaged.json") await tamper(env.indexedDB!, name, damage);
    await writeFile(file(version, name), encode(await dump(env.indexedDB!, name)));
  }
}

async function fill(st: TableStore): Promise<void> {
  await st.bind({ actor: "anna", server: "server-1" });
  const rows = await add(st, ...[1, 2, 3, 4, 5, 6, 7, 8].map((n) => entry(n < 7 ? "r" : "s", n)));
  const fence = await st.drain();
  await apply(st, fence, { kind: "snapshot", room: "r", cursor: cursor(3), messages: foreign("r", 1, 3), now: 1 });
  const sent = (await apply(st, fence, sending(rows[1]!))).row!;
  await apply(st, fence, step(sent, "queued", { attempts: 1, interval: 900, lastAttemptAt: 6000 }));
  await apply(st, fence, step(rows[2]!, "parked", { reason: "too_large", asideAt: 10 }));
  await apply(st, fence, step(rows[3]!, "uncertain", { asideAt: 20 }));
  await apply(st, fence, step(rows[4]!, "queued", { reason: "forbidden" }));
  await apply(st, fence, sending(rows[5]!));
  await apply(st, fence, confirm(rows[7]!, 4));
}

/** Three rows that no SDK can read. */
function damage(t: IDBTransaction): void {
  const outbox = t.objectStore("outbox");
  for (const [position, bad] of [
    [2, { attempts: "many" }],
    [5, { state: "odd" }],
    [7, { id: new Uint8Array([0, 255]) }],
  ] as const) {
    const get = outbox.get(position);
    get.onsuccess = () => outbox.put({ ...get.result, ...bad });
  }
}
