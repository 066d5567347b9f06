import type { Input } from "../session/input.ts";
import { Machine } from "../session/machine.ts";
import { isStoreError, type Row, type Store, StoreError } from "../store/contract.ts";
import type { Driver } from "./driver.ts";

/** How many rows are read at once, so that reading the outbox never copies it whole. */
export const outboxPage = 256;

/** Reads the outbox without its bodies. */
export async function allRows(store: Store): Promise<Row[]> {
  const rows: Row[] = [];
  for (;;) {
    const page = await store.list(rows.at(-1)?.position ?? 0, outboxPage);
    rows.push(...page);
    if (page.length < outboxPage) return rows;
  }
}

/** Takes the store's lock and makes a machine of what the store holds; false where another handle has the lock. */
export async function takeOver(d: Driver): Promise<boolean> {
  const { store, session } = d.opts;
  let fence: number;
  try {
    fence = await store.drain();
  } catch (e) {
    if (isStoreError(e, "draining")) return false;
    throw e;
  }
  try {
    const [owner, rooms, rows] = [await store.owner(), await store.rooms(), await allRows(store)];
    const load = { owner, rooms, rows, inDoubt: store.inDoubt() };
    d.m = new Machine(session, load);
  } catch (e) {
    await store.undrain();
    throw e;
  }
  d.fence = fence;
  d.broken = undefined;
  d.effects.tell({ type: "drains", here: true });
  return true;
}

/** The inputs by which a new machine learns what the app wants. */
export function wishes(d: Driver): Input[] {
  if (!d.m) return [];
  const inputs: Input[] = [];
  for (const [room, limit] of d.relay?.wanted(d.rooms) ?? d.rooms) inputs.push({ kind: "subscribe", room, limit });
  for (const [ticket, { command }] of d.asks) inputs.push({ kind: "ask", ticket, command });
  if (d.connect) inputs.push({ kind: "connect" });
  return inputs;
}

/** Gives up the machine: another handle has raised the fence, or this page is to be frozen. */
export async function demote(d: Driver): Promise<void> {
  d.effects.hangUp();
  if (!d.m) return;
  d.m = undefined;
  d.fence = 0;
  d.broken = undefined;
  d.effects.tell({ type: "connection", state: "offline", retryIn: 0 });
  d.effects.tell({ type: "drains", here: false });
  await d.opts.store.undrain();
  d.relay?.ask(); // the tab that took over told of its connection before this one listened
}

/** Makes a new machine where the store failed and the app asks to connect: the one way back. */
export async function reopen(d: Driver, inputs: readonly Input[]): Promise<Input[]> {
  if (d.m?.broken === undefined || !inputs.some((i) => i.kind === "connect")) return [];
  try {
    d.effects.hangUp();
    await d.opts.store.undrain();
    if (!(await takeOver(d))) throw new StoreError("draining", "another handle drains it");
    return wishes(d);
  } catch (error) {
    d.failed(error);
    return [];
  }
}
