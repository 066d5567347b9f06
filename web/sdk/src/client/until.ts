import type { Signal } from "../platform.ts";

/** Waits for something, or until the signal ends the waiting: then it throws the signal's reason. */
export async function until<T>(what: Promise<T>, signal: Signal | undefined): Promise<T> {
  if (!signal) return what;
  signal.throwIfAborted();
  let abort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort);
  });
  try {
    return await Promise.race([what, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
