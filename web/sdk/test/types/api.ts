/**
 * What the types must say: read by the type check alone. Each @ts-expect-error fails the check where the mistake below it
 * would be taken.
 */

import { WebSocket } from "ws";
import {
  type Client,
  ClientError,
  type ClientEvent,
  type Code,
  type Message,
  open,
  openMemoryStore,
  type Row,
  ServerError,
  type State,
} from "../../src/index.ts";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <T extends true>(_?: T): void => {};

export async function opening(): Promise<Client> {
  const store = await openMemoryStore();
  // @ts-expect-error a store is needed
  await open({ url: "", token: "" });
  // @ts-expect-error a token is a text or gives one
  await open({ url: "", token: 1, store });
  // @ts-expect-error no such bound
  await open({ url: "", token: "", store, session: { maxAttempt: 1 } });
  return open({ url: "", token: async () => "t", store, webSocket: WebSocket, session: { maxAttempts: 3 } });
}

export async function using(c: Client): Promise<void> {
  holds<Same<ReturnType<Client["nextMessageId"]>, string>>();
  holds<Same<Awaited<ReturnType<Client["send"]>>, void>>();
  await c.send("tea", c.nextMessageId(), { text: "x", data: { any: ["thing", 1, null] } });
  // @ts-expect-error a text is needed
  await c.send("tea", c.nextMessageId(), { data: 1 });
  // @ts-expect-error an id is a text
  await c.send("tea", 0n, { text: "x" });
  for await (const r of c.outbox()) {
    holds<Same<typeof r, Row>>();
    // @ts-expect-error rows are never changed in place
    r.attempts = 0;
    // @ts-expect-error no such state
    if (r.state === "confirmed") return;
  }
  for await (const m of c.follow("", 0)) holds<Same<typeof m, Message>>();
  for await (const e of c.events()) holds<Same<typeof e, ClientEvent>>();
  // @ts-expect-error its parts are its own
  c.driver;
}

export function hearing(c: Client): void {
  const stop = c.on("confirmed", (e) => {
    holds<Same<typeof e.seq, number>>();
    // @ts-expect-error that is another event's
    e.state;
  });
  holds<Same<typeof stop, () => void>>();
  c.on("connection", (e) => holds<Same<typeof e.state, Client["state"]["state"]>>());
  // @ts-expect-error no such event
  c.on("online", () => {});
  c.listen((e) => {
    if (e.type === "row") holds<Same<typeof e.row.state, State>>();
  });
}

export function failing(e: unknown): string {
  if (e instanceof ClientError) {
    // @ts-expect-error no such code
    if (e.code === "nothing") return "";
    return e.code === "parked" ? (e.row?.reason ?? "") : e.code;
  }
  if (e instanceof ServerError) holds<Same<typeof e.code, Code>>();
  return "";
}
