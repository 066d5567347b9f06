import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { type Json, maxDepth, parse, refuse } from "./json.ts";

/**
 * The RFC 8785 form of a value that `parse` read: two values of equal content have one form. ECMAScript's own numbers, strings
 * and order of names by UTF-16 units are those of RFC 8785.
 *
 * @throws BadDocument for more than 64 levels
 */
export function canonical(v: Json, depth = maxDepth): string {
  if (v === null || typeof v !== "object") return JSON.stringify(v);
  if (depth === 0) refuse(`more than ${maxDepth} levels`);
  if (Array.isArray(v)) return `[${v.map((e) => canonical(e, depth - 1)).join()}]`;
  const members = Object.keys(v).sort();
  return `{${members.map((n) => `${JSON.stringify(n)}:${canonical(v[n] as Json, depth - 1)}`).join()}}`;
}

/**
 * The canonical form of an app's value, empty for none (undefined and null). What JSON leaves out of objects (undefined,
 * functions) is left out here.
 *
 * @throws BadDocument for what the protocol refuses (an integer past ±(2^53 − 1), a lone surrogate, NaN); TypeError for what
 * JSON can't say (a bigint, a circle)
 */
export function canonicalOf(value: unknown): string {
  const text = JSON.stringify(value, (_, v) =>
    typeof v === "number" && !Number.isFinite(v) ? refuse(`${v} is no JSON`) : v,
  );
  if (text === undefined || text === "null") return "";
  return canonical(parse(text));
}

/**
 * What makes two sends of one id the same: "v1:" and the SHA-256 of the RFC 8785 form of {"data":…,"text":…}. `data` is
 * canonical, empty where there is none.
 */
export function fingerprint(text: string, data: string): string {
  return `v1:${bytesToHex(sha256(utf8ToBytes(`{"data":${data || "null"},"text":${JSON.stringify(text)}}`)))}`;
}
