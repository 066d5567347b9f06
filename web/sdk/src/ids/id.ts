import { blake3 } from "@noble/hashes/blake3.js";
import { bytesToHex, concatBytes, utf8ToBytes } from "@noble/hashes/utils.js";

/** The length of an id, a device and an ordinal in bytes. */
export const size = 16;

/** The id that is never valid: 32 zeros. `nextMessageId` returns it where no id can be had. */
export const zeroId = "0".repeat(2 * size);

/** Separates these hashes from every other use of BLAKE3. It ends in a NUL byte, as all that follows is of fixed width. */
const domain = utf8ToBytes("qim.client-message-id.v1\0");

/**
 * Derives the id of an ordinal of a device: BLAKE3(domain ‖ device ‖ ordinal)[0..16], as the 32 lower-case hex digits by which
 * it travels. It may be the zero id (for one ordinal in 2^128): such an ordinal is skipped.
 *
 * @param device 16 bytes, big-endian
 * @param ordinal from 0 to 2^128 − 1
 */
export function makeId(device: Uint8Array, ordinal: bigint): string {
  return bytesToHex(blake3(concatBytes(domain, device, ordinalBytes(ordinal)), { dkLen: size }));
}

/** The ordinal as 16 bytes, big-endian: the form of a mark in a store. */
export function ordinalBytes(ordinal: bigint): Uint8Array {
  const b = new Uint8Array(size);
  const view = new DataView(b.buffer);
  view.setBigUint64(0, ordinal >> 64n);
  view.setBigUint64(8, ordinal & 0xffff_ffff_ffff_ffffn);
  return b;
}

/** Whether s is an id as an SDK makes them: 32 lower-case hex digits, not all zeros. */
export function isSdkId(s: string): boolean {
  return /^[0-9a-f]{32}$/.test(s) && s !== zeroId;
}
