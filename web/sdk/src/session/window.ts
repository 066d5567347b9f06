import { delay } from "./delay.ts";
import type { Flight } from "./flight.ts";
import type { Machine } from "./machine.ts";

/**
 * Window bounds the frames about rows in flight (docs/spec/client.md, 3, "No herd"). It starts at 1 on each connection, doubles
 * with each window answered finally, and halves with each answer that says "later", or doesn't come.
 */
export interface Window {
  size: number;
  /** Final answers since it last changed. */
  final: number;
  /** Answers in a row that would have halved it and found it at 1. */
  short: number;
  /** Number of the last frame when it fell to 1, or stayed there: what was released before says nothing new. */
  fell: number;
  /** mono: what waited is held back; 0 where it isn't. */
  until: number;
}

/** The window of a new connection. */
export const newWindow = (): Window => ({ size: 1, final: 0, short: 0, fell: 0, until: 0 });

/** Takes in a final answer: one that stores, repeats or refuses for good. */
export function answeredFinally(m: Machine): void {
  const w = m.window;
  w.short = w.until = 0;
  if (++w.final < w.size) return;
  w.size = Math.min(2 * w.size, m.cfg.flights);
  w.final = 0;
}

/** Takes in an answer to a flight that says "later", or that doesn't come. */
export function slow(m: Machine, f: Flight): void {
  const w = m.window;
  w.final = 0;
  if (w.size > 2) {
    w.size = Math.floor(w.size / 2);
  } else if (w.size === 2) {
    w.size = 1;
    w.fell = m.link.frames;
  } else if (f.frame > w.fell) {
    w.short++;
    w.fell = m.link.frames;
    w.until = m.now.mono + delay(m.cfg.base, m.cfg.connCap, w.short, m.cfg.rand());
  }
}

/** Smoothed is the running mean of a time, in ms. */
export interface Smoothed {
  /** Undefined while nothing was measured. */
  mean: number | undefined;
  /** What was overdue since the last measure says that it has grown. */
  scale: number;
}

/** A time that nothing was measured of. */
export const unmeasured = (): Smoothed => ({ mean: undefined, scale: 1 });

export function measure(s: Smoothed, ms: number): void {
  const t = Math.max(ms, 0);
  s.mean = s.mean === undefined ? t : s.mean + (t - s.mean) / 8;
  s.scale = 1;
}

/** Four times the mean, within bounds; the greatest while nothing was measured. */
export function times4(s: Smoothed, least: number, most: number): number {
  if (s.mean === undefined) return most;
  return Math.min(Math.max(Math.floor(4 * s.mean * s.scale), least), most);
}

/** Doubles what is waited for until the next measure. */
export function overdue(s: Smoothed): void {
  s.scale = Math.min(2 * s.scale, 2 ** 20);
}
