import type { Schedule } from "../store/contract.ts";

/**
 * The delay law of docs/spec/client.md, 3: d = min(cap, base · 2^(attempts−1)), of which half is certain and half is drawn by
 * u. So base/2 ≤ delay ≤ cap for every number of attempts and every u, also one out of range or NaN. base is at most limit;
 * attempts below 1 count as 1.
 */
export function delay(base: number, limit: number, attempts: number, u: number): number {
  const d = Math.min(limit, base * 2 ** Math.max(0, attempts - 1)); // Infinity at worst, which limit bounds
  const half = Math.floor(d / 2);
  return d - half + share(half, u);
}

/** u of n in whole numbers, exactly within 0 and n. */
export function share(n: number, u: number): number {
  const unit = u >= 0 ? Math.min(u, 1) : 0; // NaN is 0
  return Math.floor(unit * n);
}

/**
 * How many ms of wall time are left before a row's next try: clamp(last + interval − now, 0, interval). A time in the past
 * means now; a clock that went back can't make it longer than the interval.
 */
export function remaining(s: Schedule, wall: number): number {
  return Math.min(Math.max(s.lastAttemptAt + s.interval - wall, 0), Math.max(s.interval, 0));
}

/**
 * The schedule of a row whose last attempt lies in the future, as the clock went back: it waits for half to all of its
 * interval from now, neither at once nor forever. It is stored, so that it is mended once.
 */
export function mended(s: Schedule, wall: number, u: number): Schedule {
  const half = Math.floor(s.interval / 2);
  return { attempts: s.attempts, interval: s.interval - half + share(half, u), lastAttemptAt: wall };
}
