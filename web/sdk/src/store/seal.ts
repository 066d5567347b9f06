/**
 * Bodies sealed at rest by AES-GCM with a key that can't be taken out of the browser. Sealed are text and data of outbox rows
 * and messages, and the rows' fingerprints, which are plain hashes from which a short text can be guessed. Rooms, ids,
 * actors, times, sizes and states stay readable. Each value has a random nonce and is bound to its kind, room and id, so
 * that none can be put in another's place.
 */

import type { SealKey } from "../platform.ts";
import { StoreError } from "./errors.ts";
import type { Body, Key } from "./row.ts";

/** A body as it lies in a table. `as` says to which id a sealed one is bound: a confirmed row's message keeps its body's. */
export type StoredBody = Body | { readonly sealed: Uint8Array; readonly as: "body" | "message" };

type Kind = "body" | "message" | "fingerprint" | "check";

const nonceSize = 12;
const encoder = new TextEncoder();
const checked = "hapax";

/** Bytes for WebCrypto, whose types want an ArrayBuffer of their own. */
const bytes = (b: Uint8Array): Uint8Array<ArrayBuffer> => Uint8Array.from(b);

/** The bytes to which a value is bound: a JSON array, so that no two are the same. */
const bound = (kind: Kind, key: Key) =>
  encoder.encode(JSON.stringify(["hapax.client.store.v1", kind, key.room, key.id]));

const noKey: Key = { room: "", id: "" };

/** Sealer seals and opens values. Without a key values stay as they are. */
export class Sealer {
  readonly #key: CryptoKey | undefined;

  constructor(key: SealKey | undefined) {
    this.#key = key as CryptoKey | undefined;
  }

  async #seal(kind: Kind, key: Key, plain: string): Promise<Uint8Array> {
    const iv = crypto.getRandomValues(new Uint8Array(nonceSize));
    const how = { name: "AES-GCM", iv, additionalData: bound(kind, key) };
    const sealed = new Uint8Array(await crypto.subtle.encrypt(how, this.#key!, encoder.encode(plain)));
    const out = new Uint8Array(nonceSize + sealed.length);
    out.set(iv);
    out.set(sealed, nonceSize);
    return out;
  }

  async #open(kind: Kind, key: Key, sealed: Uint8Array): Promise<string> {
    const how = { name: "AES-GCM", iv: bytes(sealed.subarray(0, nonceSize)), additionalData: bound(kind, key) };
    const plain = await crypto.subtle.decrypt(how, this.#key!, bytes(sealed.subarray(nonceSize)));
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(plain);
  }

  /** A fingerprint as it is stored. */
  fingerprint(key: Key, plain: string): Promise<string | Uint8Array> {
    return this.#key ? this.#seal("fingerprint", key, plain) : Promise.resolve(plain);
  }

  /** A stored fingerprint; rejects where it can't be read. */
  async openFingerprint(key: Key, stored: unknown): Promise<string> {
    if (this.#key && stored instanceof Uint8Array) return this.#open("fingerprint", key, stored);
    if (this.#key || typeof stored !== "string") throw new TypeError("fingerprint of another type");
    return stored;
  }

  /** A body as it is stored, bound to the id of its row or message. */
  async body(as: "body" | "message", key: Key, b: Body): Promise<StoredBody> {
    if (!this.#key) return { text: b.text, data: b.data };
    return { sealed: await this.#seal(as, key, JSON.stringify([b.text, b.data])), as };
  }

  /** A stored body; rejects where it can't be read. ids are those of the row or message. */
  async openBody(stored: unknown, room: string, clientId: string, messageId: string): Promise<Body> {
    const s = stored as { sealed?: unknown; as?: unknown; text?: unknown; data?: unknown } | undefined;
    if (this.#key && s?.sealed instanceof Uint8Array && (s.as === "body" || s.as === "message")) {
      const [text, data] = JSON.parse(
        await this.#open(s.as, { room, id: s.as === "body" ? clientId : messageId }, s.sealed),
      );
      return { text, data };
    }
    if (this.#key || typeof s?.text !== "string" || typeof s.data !== "string")
      throw new TypeError("body of another type");
    return { text: s.text, data: s.data };
  }

  /** What a store keeps to know its key by; undefined without one. */
  async keyCheck(): Promise<Uint8Array | undefined> {
    return this.#key && this.#seal("check", noKey, checked);
  }

  /** Refuses a store that was sealed with another key, or with one where this handle has none. */
  async check(keyCheck: Uint8Array | undefined): Promise<void> {
    if (!keyCheck) return;
    const plain = this.#key ? await this.#open("check", noKey, keyCheck).catch(() => "") : "";
    if (plain !== checked)
      throw new StoreError("wrong_key", "its bodies are encrypted with another key; nothing was changed");
  }
}

/** The member under which a body's parts lie in a message's record. */
export const bodyOf = (s: StoredBody): object =>
  "sealed" in s ? { sealed: s.sealed, as: s.as } : { text: s.text, data: s.data };
