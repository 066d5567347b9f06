import fc from "fast-check";
import { expect, test } from "vitest";
import { delay, mended, remaining } from "../../src/session/delay.ts";

const ms = fc.integer({ min: 0, max: 2 ** 51 });
const any = fc.oneof(fc.double(), fc.constantFrom(0, 1, Number.NaN, -1, 2, Number.POSITIVE_INFINITY, Number.MIN_VALUE));
const bounds = fc
  .tuple(fc.integer({ min: 1, max: 2 ** 40 }), fc.integer({ min: 0, max: 2 ** 50 }))
  .map(([base, more]) => ({ base, cap: base + more }));
const schedule = fc.record({ attempts: fc.integer({ min: 0, max: 12 }), interval: ms, lastAttemptAt: ms });

test("base/2 ≤ delay ≤ cap, a whole number, for every attempt and every random source", () => {
  const attempts = fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: -5, max: 2 ** 31 }));
  fc.assert(
    fc.property(bounds, attempts, any, ({ base, cap }, n, u) => {
      const d = delay(base, cap, n, u);
      expect(Number.isSafeInteger(d)).toBe(true);
      expect(d).toBeGreaterThanOrEqual(base / 2);
      expect(d).toBeLessThanOrEqual(cap);
    }),
  );
});

test("the most and the least of a delay double up to the cap, half is certain", () => {
  const most = Array.from({ length: 11 }, (_, n) => delay(1000, 300_000, n + 1, 1));
  expect(most).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000, 300_000]);
  expect(most.map((_, n) => delay(1000, 300_000, n + 1, 0) * 2)).toEqual(most);
});

test("what remains lies between nothing and the interval, whatever the clock says", () => {
  fc.assert(
    fc.property(schedule, ms, (s, wall) => {
      const left = remaining(s, wall);
      expect(left).toBeGreaterThanOrEqual(0);
      expect(left).toBeLessThanOrEqual(s.interval);
      if (wall >= s.lastAttemptAt + s.interval) expect(left).toBe(0);
    }),
  );
});

test("a schedule whose last attempt lies ahead waits half to all of its interval from now, and is mended once", () => {
  fc.assert(
    fc.property(schedule, ms, any, (s, wall, u) => {
      const m = mended(s, wall, u);
      expect([m.attempts, m.lastAttemptAt]).toEqual([s.attempts, wall]);
      const left = remaining(m, wall);
      expect(left).toBeGreaterThanOrEqual(Math.floor(s.interval / 2));
      expect(left).toBeLessThanOrEqual(s.interval);
      expect(m.lastAttemptAt).toBeLessThanOrEqual(wall); // nothing to be mended any more
    }),
  );
});
