/** A key for the store that never leaves the browser. */

import type { SealKey } from "../platform.ts";
import { connect, type DatabaseEnv, result, storeError } from "../store/connect.ts";
import { browserEnv } from "./env.ts";

/**
 * The AES-GCM key of a name, made where there is none: it can't be extracted, and is held as a CryptoKey in a database of
 * its own. Where that database was lost a new key is made, by which a store sealed with the old one doesn't open
 * (`wrong_key`), and nothing in it is overwritten.
 */
export function storeKey(name = "hapax"): Promise<SealKey> {
  return keyOf(name, browserEnv());
}

/** @internal storeKey in an environment of its own. */
export async function keyOf(name: string, env: DatabaseEnv): Promise<SealKey> {
  const made = await crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
  const db = await connect(env, `${name}.key`, 1, async (d) => void d.createObjectStore("key"));
  try {
    const t = db!.transaction("key", "readwrite", { durability: "strict" });
    const keys = t.objectStore("key");
    const kept = (await result(keys.get("key"))) as CryptoKey | undefined;
    if (!kept) keys.put(made, "key");
    await new Promise((resolve, reject) => {
      t.oncomplete = resolve;
      t.onabort = () => reject(t.error);
    });
    return kept ?? (made as CryptoKey);
  } catch (e) {
    throw storeError(e);
  } finally {
    db?.close();
  }
}
