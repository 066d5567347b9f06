import { ClientError } from "../errors.ts";
import type { Key, Store } from "../store/contract.ts";
import type { Hub } from "./hub.ts";
import { until } from "./until.ts";
import { goneError, isStuck, type Outcome, type Receipt, rowError, type Waits } from "./waits.ts";

/** How many of a room's newest rows are searched for a message that left the outbox. */
const recentRows = 1000;

/** Waits until a row is confirmed; rejects where it ends otherwise. */
export async function waitAck(
  store: Store,
  hub: Hub,
  waits: Waits,
  key: Key,
  signal: AbortSignal | undefined,
): Promise<Receipt> {
  let outcome: Outcome | undefined;
  let tell = (_: Outcome): void => {};
  const told = new Promise<Outcome>((resolve) => {
    tell = resolve;
  });
  const stop = waits.add(key, (o) => {
    outcome = o;
    tell(o);
  });
  try {
    for (let seen = false; ; seen = true) {
      const changed = hub.changes();
      const row = await store.find(key);
      if (row && isStuck(row)) throw rowError(row);
      if (!row) return settled(outcome ?? (await confirmed(store, key, seen)));
      await until(Promise.race([told, changed]), signal); // perhaps by another tab, which tells nobody here
      if (outcome) return settled(outcome);
      if (hub.shut) throw new ClientError("closed", "closed");
    }
  } finally {
    stop();
  }
}

function settled(o: Outcome): Receipt {
  if (o instanceof ClientError) throw o;
  const { messageId, seq, epoch, at, duplicate } = o;
  return { messageId, seq, epoch, at, duplicate };
}

/** Finds out what became of a row that is not in the outbox. */
async function confirmed(store: Store, { room, id }: Key, seen: boolean): Promise<Outcome> {
  const [rows, owner] = [await store.view(room, 0, recentRows), await store.owner()];
  const m = rows.find((r) => r.clientMessageId === id && r.actor === owner?.actor);
  if (m) return { ...m, duplicate: false };
  return seen ? goneError() : new ClientError("no_row", "no such row in the outbox");
}
