/** How numbers, times and sizes are written: short, with figures of one width. */

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** 1,234, and 12.3 below a hundred where it isn't whole. */
export function count(n: number): string {
  return Math.abs(n) < 100 && !Number.isInteger(n) ? tenth.format(n) : whole.format(n);
}

/** 1 room, 2 rooms. */
export function many(n: number, what: string): string {
  return `${count(n)} ${what}${n === 1 ? "" : "s"}`;
}

/** Bytes as 1.2 MB: powers of a thousand. */
export function bytes(n: number): string {
  for (const [size, unit] of [
    [1e9, "GB"],
    [1e6, "MB"],
    [1e3, "KB"],
  ] as const) {
    if (n >= size) return `${tenth.format(n / size)} ${unit}`;
  }
  return `${whole.format(n)} B`;
}

/** A time that something took, in seconds, as 0.8 ms or 1.2 s. */
export function took(seconds: number): string {
  if (seconds >= 1) return `${tenth.format(seconds)} s`;
  const ms = seconds * 1000;
  return ms >= 10 ? `${whole.format(ms)} ms` : `${tenth.format(ms)} ms`;
}

/** A time to wait, in ms, rounded up: 4 s, 2 min, 3 h. */
export function wait(ms: number): string {
  if (ms < 1000) return "now";
  const s = Math.ceil(ms / 1000);
  if (s < 120) return `${s} s`;
  if (s < 7200) return `${Math.ceil(s / 60)} min`;
  return s < 172_800 ? `${Math.ceil(s / 3600)} h` : `${Math.ceil(s / 86_400)} days`;
}

/** Since when something runs: 3 days, 4 h, 5 min. */
export function lasted(ms: number): string {
  const min = Math.floor(ms / 60_000);
  if (min < 1) return "under a minute";
  if (min < 120) return `${min} min`;
  return min < 2880 ? `${Math.floor(min / 60)} h` : `${Math.floor(min / 1440)} days`;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const clockSeconds = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const short = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const day = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long", year: "numeric" });

/** Says whether two times lie on one day here. */
export const sameDay = (a: number, b: number) => new Date(a).setHours(0, 0, 0, 0) === new Date(b).setHours(0, 0, 0, 0);

export const timeOfDay = (ms: number) => clock.format(ms);
export const preciseTime = (ms: number) => clockSeconds.format(ms);
export const shortDay = (ms: number) => short.format(ms);
export const dayOf = (ms: number) => day.format(ms);
