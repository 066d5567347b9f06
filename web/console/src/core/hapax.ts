/** The client of whoever is signed in: opened with the page, one at a time, and what it tells. */

import {
  type Client,
  ClientError,
  type ClientEvent,
  type ConnectionChanged,
  type Counts,
  isStoreError,
  openBrowserStore,
  open as openClient,
  openMemoryStore,
  resetBrowserStore,
  type Store,
} from "@hapax/client";
import { batch, signal } from "@preact/signals";
import { advice } from "./advice.ts";
import { gather } from "./clock.ts";
import { breakable } from "./faults.ts";
import { actor, token, tokenRefused } from "./sign-in.ts";
import { nextStoreName, storeName } from "./store-name.ts";
import { settleWipe, storeOf } from "./wipe.ts";

/** What the page can work with. */
export type Opened =
  | { readonly as: "opening" }
  | { readonly as: "ready"; readonly client: Client; readonly store: Store; readonly lasting: boolean }
  | { readonly as: "failed"; readonly error: unknown };

export const opened = signal<Opened>({ as: "opening" });

export interface Connection {
  readonly state: ConnectionChanged["state"];
  readonly error: unknown;
  /** Monotonic time of the next try, 0 where none is planned. */
  readonly nextAt: number;
}

export const connection = signal<Connection>({ state: "offline", error: undefined, nextAt: 0 });
/** This tab sends what the store holds; another one does otherwise. */
export const drains = signal(true);
export const counts = signal<Counts | undefined>(undefined);
/** Rises whenever the reader changed the outbox. */
export const touched = signal(0);
/** What went wrong that the reader should know of, the newest last. */
export const troubles = signal<readonly string[]>([]);

const listeners = new Set<(e: ClientEvent) => void>();

/** Calls f with every event of the client until the function returned is called. */
export function onEvent(f: (e: ClientEvent) => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

const stored = (who: string) => storeOf(who, storeName(who));

let ending: Promise<void> = Promise.resolve();
/** Rises with each opening and closing: an opening that was overtaken meanwhile gives up what it got. */
let turn = 0;

/** Opens the client: on the browser's store, or, where the reader accepts that, on one that ends with the page. */
export async function open(lasting = true): Promise<void> {
  const closed = close();
  const mine = turn;
  await closed;
  if (mine !== turn) return;
  opened.value = { as: "opening" };
  const who = actor.peek();
  try {
    if (!lasting) return await start(who, mine, await openMemoryStore(), false);
    await settleWipe(who);
    const { store, lost } = await openBrowserStore(stored(who));
    await start(who, mine, store, true);
    if (lost) complain("The browser threw this page's storage away. Messages that waited in its outbox are lost.");
  } catch (error) {
    if (mine === turn) opened.value = { as: "failed", error };
  }
}

/** Leaves the store as it is, with all that it holds, and begins another one. */
export async function openAnother(): Promise<void> {
  nextStoreName(actor.peek());
  await open();
}

/** Makes a store that a newer page wrote usable for this one: outbox rows stay, rooms are read anew. */
export async function reset(): Promise<void> {
  const who = actor.peek();
  try {
    await resetBrowserStore(stored(who));
  } catch (error) {
    opened.value = { as: "failed", error };
    return;
  }
  await open();
}

/** Ends the client. What its store holds stays. */
export async function close(): Promise<void> {
  turn++;
  const old = opened.peek();
  if (old.as !== "ready") return ending;
  batch(() => {
    opened.value = { as: "opening" };
    connection.value = { state: "offline", error: undefined, nextAt: 0 };
    counts.value = undefined;
    troubles.value = [];
  });
  ending = old.client.close();
  await ending;
}

async function start(who: string, mine: number, store: Store, lasting: boolean): Promise<void> {
  if (mine !== turn) return store.close();
  const client = await openClient({
    url: `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/v1/ws`,
    // A client that outlives its reader by a moment must not speak, and mark its store, as the next one.
    token: () =>
      who === actor.peek() ? token() : Promise.reject(new ClientError("signed_out", "nobody is signed in")),
    store,
    name: "hapax console",
    transport: breakable(),
  });
  if (mine !== turn) return client.close();
  client.listen((e) => take(client, e));
  drains.value = client.drains;
  connection.value = standing(client.state);
  opened.value = { as: "ready", client, store, lasting };
  void count(client);
}

function take(client: Client, e: ClientEvent): void {
  switch (e.type) {
    case "connection":
      connection.value = standing(e);
      renewToken(client, e.state);
      break;
    case "drains":
      drains.value = e.here;
      break;
    case "failed":
      complain(advice(e.error));
      break;
    case "threw":
      complain(e.error);
      break;
  }
  if (e.type !== "connection" && e.type !== "room") recount(client);
  for (const f of listeners) f(e);
}

let renewed = false;

/** A server with other keys takes none of the old ones' tokens: one is asked for anew, once until it led to a connection. */
function renewToken(client: Client, state: Connection["state"]): void {
  if (state === "online") renewed = false;
  if (state !== "auth_required" || renewed || !tokenRefused()) return;
  renewed = true;
  client.newToken();
}

/** Tells the reader of something that went wrong. */
export function complain(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  if (troubles.peek().at(-1) !== text) troubles.value = [...troubles.peek().slice(-4), text];
}

const standing = (e: Pick<ConnectionChanged, "state" | "retryIn" | "error">): Connection => ({
  state: e.state,
  error: e.error,
  nextAt: e.retryIn > 0 ? performance.now() + e.retryIn : 0,
});

let counting: Client | undefined;
const countSoon = gather(() => {
  if (counting !== undefined) void count(counting);
});

function recount(client: Client): void {
  counting = client;
  countSoon();
}

/** Says that the reader has just changed the outbox, of which the client tells no event: who shows it looks again. */
export function touchOutbox(): void {
  touched.value++;
  const now = opened.peek();
  if (now.as === "ready") recount(now.client);
}

async function count(client: Client): Promise<void> {
  try {
    const n = await client.counts();
    const now = opened.peek();
    if (now.as === "ready" && now.client === client) counts.value = n;
  } catch (e) {
    if (!isStoreError(e, "closed")) complain(e);
  }
}
