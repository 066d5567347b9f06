import { expect, test } from "vitest";
import { ceiling } from "../src/server/ceiling.ts";
import { percentile } from "../src/server/percentile.ts";

const histogram = (...counts: number[]) => ({ bounds: [1, 2, 4], counts, sum: 0 });

test("a percentile lies within the bucket that holds it", () => {
  expect(percentile(histogram(0, 10, 0, 0), undefined, 0.5)).toBe(1.5);
  expect(percentile(histogram(10, 0, 10, 0), undefined, 0.5)).toBe(1);
  expect(percentile(histogram(10, 0, 10, 0), undefined, 0.75)).toBe(3);
  expect(percentile(histogram(0, 0, 0, 5), undefined, 0.99)).toBe(4);
});

test("a percentile is of what was counted in between", () => {
  expect(percentile(histogram(100, 10, 0, 0), histogram(100, 0, 0, 0), 0.01)).toBeCloseTo(1.01);
  expect(percentile(histogram(100, 0, 0, 0), histogram(100, 0, 0, 0), 0.5)).toBeUndefined();
});

test("an axis ends at the next round number", () => {
  expect([0, 0.3, 1, 1.1, 3, 7, 10, 51, 200_001].map(ceiling)).toEqual([1, 0.5, 1, 2, 5, 10, 10, 100, 500_000]);
});
