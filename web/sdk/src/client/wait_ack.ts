import { ClientError } from "../errors.ts";
import type { Signal } from "../platform.ts";
import type { Key, Row, Store } from "../store/contract.ts";
import type { Hub } from "./hub.ts";
import { until } from "./until.ts";
import { isStuck, type Outcome, type Receipt, receiptOf, rowError, type Waits } from "./waits.ts";

/**
 * Waits until a row is confirmed; rejects where it ends otherwise. The store is asked at most twice, however long it takes.
 *
 * @param known a row as the machine has it, which spares asking the store
 */
export async function waitAck(
  store: Store,
  hub: Hub,
  waits: Waits,
  key: Key,
  known: Row | undefined,
  signal: Signal | undefined,
): Promise<Receipt> {
  let tell = (_: Outcome): void => {};
  const told = new Promise<Outcome>((resolve) => {
    tell = resolve;
  });
  const wait = { key, seen: known !== undefined, tell };
  const stop = waits.add(wait);
  try {
    const row = known ?? (await store.find(key));
    if (row && isStuck(row)) throw rowError(row);
    wait.seen = row !== undefined;
    if (row && !hub.shut) return settled(await until(told, signal));
    // Told of meanwhile, or ended before anybody waited.
    const now = await Promise.race([told, row ? closed() : receiptOf(store, key)]);
    return settled(now ?? new ClientError("no_row", "no such row in the outbox"));
  } finally {
    stop();
  }
}

const closed = (): ClientError => new ClientError("closed", "closed");

function settled(o: Outcome): Receipt {
  if (o instanceof ClientError) throw o;
  const { messageId, seq, epoch, at, duplicate } = o;
  return { messageId, seq, epoch, at, duplicate };
}
