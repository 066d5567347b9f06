import type { Entry } from "../store/contract.ts";
import type { Driver, Sending } from "./driver.ts";

/** Stores rows as queued, in one transaction, and answers their sends: another tab will send them. */
export async function addAside(d: Driver, tickets: readonly number[]): Promise<void> {
  const batch: Sending[] = [];
  for (const t of tickets) {
    const s = d.pending.get(t);
    if (s) batch.push(s);
    d.pending.delete(t);
  }
  if (batch.length === 0) return;
  const queuedAt = d.opts.clock.now().wall;
  const entries = batch.map(
    ({ key, body, fingerprint }): Entry => ({
      ...{ ...key, ...body, fingerprint, queuedAt, state: "queued" },
      ...{ attempts: 0, interval: 0, lastAttemptAt: 0, firstSentAt: 0 },
    }),
  );
  try {
    const added = await d.opts.store.add(0, entries);
    added.forEach((a, i) => {
      batch[i]?.done(a);
    });
  } catch (error) {
    for (const s of batch) s.failed(error);
  }
}
