import type { Lease } from "../store/contract.ts";
import { size } from "./id.ts";

/** How many ordinals a lease holds: enough that renewing never limits a sender, few enough that 2^88 leases exist. */
export const defaultLease = 2 ** 40;

/** How many random bits a reservation jumps by, in units of 2^40 ordinals. */
export const jumpBits = 48n;

/** One past the greatest ordinal. */
const end = 1n << 128n;

/**
 * - `bad_lease`: not a number of ordinals from 1 to 2^53 − 1, or not a jump below 2^48
 * - `bad_mark`: a mark of another length than 16 bytes
 * - `overflow`: no ordinals left below 2^128
 */
export type LeaseErrorCode = "bad_lease" | "bad_mark" | "overflow";

/** Why nothing was reserved. */
export class LeaseError extends Error {
  override readonly name = "LeaseError";
  readonly code: LeaseErrorCode;

  constructor(code: LeaseErrorCode, message: string) {
    super(`ids: ${message}`);
    this.code = code;
  }
}

/**
 * Reads a mark of a store.
 *
 * @throws LeaseError `bad_mark` for any other length than 16 bytes: that is corruption, never padded
 */
export function ordinalFrom(mark: Uint8Array): bigint {
  if (mark.length !== size) throw new LeaseError("bad_mark", `a mark must be exactly 16 bytes, it has ${mark.length}`);
  const view = new DataView(mark.buffer, mark.byteOffset, size);
  return (view.getBigUint64(0) << 64n) | view.getBigUint64(8);
}

/**
 * The rule by which every store reserves: start = mark + 1 + jump · 2^40. The mark keeps ids apart in one store, the jump in
 * copies of it. The caller stores `lastOf` the lease as the new mark in the same transaction in which it read the old one.
 *
 * @throws LeaseError `bad_lease`, `overflow`
 */
export function reserveLease(device: Uint8Array, mark: bigint, n: number, jump: bigint): Lease {
  if (!Number.isSafeInteger(n) || n < 1 || jump < 0n || jump >> jumpBits !== 0n) {
    throw new LeaseError("bad_lease", `not a lease: n ${n}, jump ${jump}`);
  }
  const start = mark + 1n + (jump << 40n);
  if (start + BigInt(n) > end) throw new LeaseError("overflow", "no ordinals left below 2^128");
  return { device, start, n };
}

/** The greatest ordinal of a lease, which is the mark that reserving it leaves. */
export function lastOf(l: Lease): bigint {
  return l.start + BigInt(l.n) - 1n;
}

/** 48 fresh random bits. */
export function randomJump(): bigint {
  const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2));
  return (BigInt(high & 0xffff) << 32n) | BigInt(low);
}
