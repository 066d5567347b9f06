/** Percentiles out of counts by bucket. */

export interface Histogram {
  readonly bounds: readonly number[];
  /** One more than bounds; not cumulative. */
  readonly counts: readonly number[];
  readonly sum: number;
}

/**
 * The value below which a share q of what was counted between two readings lies, interpolated within its bucket.
 * Undefined where nothing was counted; of those above all bounds only the last bound is known.
 */
export function percentile(now: Histogram, before: Histogram | undefined, q: number): number | undefined {
  const counts = now.counts.map((n, i) => n - (before?.counts[i] ?? 0));
  const all = counts.reduce((a, b) => a + b, 0);
  if (all <= 0) return undefined;
  let rest = q * all;
  for (let i = 0; i < counts.length; i++) {
    const n = counts[i]!;
    if (n > 0 && rest <= n) {
      const low = i === 0 ? 0 : now.bounds[i - 1]!;
      const high = now.bounds[i];
      return high === undefined ? low : low + (high - low) * (rest / n);
    }
    rest -= n;
  }
  return now.bounds.at(-1);
}
