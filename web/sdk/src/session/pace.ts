/**
 * At slackFrom releases a second and more, a release makes `slack` ms of lateness good: timers are no more exact than that,
 * and the pace would fall behind itself.
 */
const slackFrom = 100;
const slack = 10;

/** Bounds the doubling; no client sends so fast. */
const maxPace = 2 ** 20;

/** Pace spaces the releases of a backlog (docs/spec/client.md, 3, "No herd"). */
export interface Pace {
  /** Releases a second. */
  rate: number;
  /** mono: the next release. */
  next: number;
  /** An ack came since the last doubling. */
  acked: boolean;
  /** mono: the next doubling. */
  double: number;
  /** mono: not halved again before. */
  halve: number;
  /** Something that is due waits for the pace or for room in flight. */
  backlog: boolean;
}

/** A pace from the start; the backlog stays. */
export function startPace(rate: number, mono: number, backlog: boolean): Pace {
  return { rate, next: mono, acked: false, double: mono + 1000, halve: 0, backlog };
}

/** Whether a release may happen now. */
export function allows(p: Pace, mono: number): boolean {
  if (mono >= p.double) {
    if (p.acked) p.rate = Math.min(p.rate * 2, maxPace);
    p.acked = false;
    p.double = mono + 1000;
  }
  return mono >= p.next;
}

/** Counts a release. One that the pace didn't hold back only spaces the next: with nothing waiting there is no pace. */
export function spend(p: Pace, mono: number, held: boolean): void {
  const from = held ? Math.max(p.next, p.rate >= slackFrom ? mono - slack : mono) : mono;
  p.next = from + 1000 / p.rate;
}

/** Halves the pace for a retryable answer. */
export function slow(p: Pace, mono: number): void {
  if (mono < p.halve) return;
  p.rate = Math.max(1, p.rate / 2);
  p.halve = p.double = mono + 1000;
  p.acked = false;
  p.next = Math.max(p.next, mono + 1000 / p.rate);
}
