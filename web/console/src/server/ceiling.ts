/** The least of 1, 2, 5 · 10^n that is not below v. */
export function ceiling(v: number): number {
  if (!(v > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(v));
  for (const step of [1, 2, 5]) if (step * power >= v) return step * power;
  return 10 * power;
}
