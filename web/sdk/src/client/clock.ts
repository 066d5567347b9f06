import type { Now } from "../session/input.ts";

/** Clock is all the time that a client has, so that tests own it. */
export interface Clock {
  /** The wall clock's Unix time, which may jump, and a time that only rises; both in ms. */
  now(): Now;
  /** Calls f once, ms from now at the soonest. The function returned takes that back. */
  after(ms: number, f: () => void): () => void;
}

/** What setTimeout can count. */
const longest = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => ({ wall: Date.now(), mono: Math.floor(performance.now()) + 1 }),
  after(ms, f) {
    const timer = setTimeout(f, Math.min(ms, longest));
    return () => clearTimeout(timer);
  },
};
