import { ClientError } from "../errors.ts";
import { defaultLease } from "../ids/lease.ts";
import { maxName, utf8Length } from "../protocol/names.ts";
import { type Config, defaultConfig } from "../session/config.ts";
import type { Store } from "../store/contract.ts";
import type { Transport } from "../transport/transport.ts";
import { type WebSocketConstructor, webSocket } from "../transport/websocket.ts";
import { type Clock, systemClock } from "./clock.ts";
import { broadcast, type Channel } from "./relay.ts";
import { browserWakes } from "./wakes.ts";

/**
 * Gives a token to sign in with. It is asked before each connection and before the present token expires, so that it may fetch a new
 * one; a token that the server refused is offered again by itself, and another asked for at most every five minutes, or by newToken.
 * It is never called while a call of it is out, and has 20 s (`session.tokenWithin`) before the app is told that it is overdue; its
 * late answer is taken. Where it throws an error whose code is `signed_out`, nothing is asked or tried until newToken or connect.
 */
export type TokenSource = () => string | Promise<string>;

/** Options of a client. url, token and store are required. */
export interface Options {
  /** Of the server's WebSocket, as wss://host/v1/ws. What can't be one is refused (`bad_option`), but with a transport of your own. */
  readonly url: string;
  /** A token, or what gives one. */
  readonly token: string | TokenSource;
  /** Keeps outbox, rooms and marks. The client owns it from open on, also where open fails, and closes it. */
  readonly store: Store;

  /** Tells the server's logs which program this is; at most 128 bytes. */
  readonly name?: string;
  /** Opens the client without connecting; connect does. */
  readonly offline?: boolean;
  /** The WebSocket to use where there is none of the platform's (Node 20: that of the package `ws`). */
  readonly webSocket?: WebSocketConstructor;
  /** Carries frames; WebSocket by default. */
  readonly transport?: Transport;
  /** Bounds attempts, delays and what is in flight; what is left out is that of docs/spec/client.md. */
  readonly session?: Partial<Config>;
  /** How many ids are reserved at once; 2^40 by default. */
  readonly lease?: number;
  /** All time; the machine's by default. */
  readonly clock?: Clock;
  /** ms between looks at what other tabs did, beside their hints; 1,000 by default. */
  readonly poll?: number;
  /** The way to the other tabs on this store; a BroadcastChannel by default, undefined where there is none. */
  readonly channel?: (name: string) => Channel | undefined;
  /** Calls f when the page comes to the front or the network back, until the function returned is called. */
  readonly wakes?: (f: () => void) => () => void;
}

/** Options with all that has a default. */
export interface FullOptions extends Required<Omit<Options, "name" | "webSocket" | "session">> {
  readonly session: Config;
}

/** Refuses what can't be a WebSocket's address, instead of dialling it for ever. */
function checkUrl(url: string): void {
  const refuse = (why: string) => new ClientError("bad_option", `url: ${why}, as in wss://host/v1/ws`);
  let u: URL;
  try {
    u = new URL(url);
  } catch {
    throw refuse(`${JSON.stringify(url)} is no address; give the one of the server's WebSocket`);
  }
  if (u.protocol !== "ws:" && u.protocol !== "wss:") throw refuse(`it begins with ${u.protocol}, not with ws: or wss:`);
  if (u.username !== "" || u.password !== "") throw refuse("a user or password can't stand in it; the token signs in");
  if (url.includes("#")) throw refuse("a WebSocket's address has no part behind #");
}

/**
 * Fills in the defaults.
 *
 * @throws ClientError `bad_option`
 */
export function withDefaults(o: Options): FullOptions {
  if (utf8Length(o.name ?? "") > maxName || /\p{Cc}/u.test(o.name ?? "")) {
    throw new ClientError("bad_option", "a name has at most 128 bytes and no control characters");
  }
  if (!o.transport) checkUrl(o.url);
  return {
    url: o.url,
    token: o.token,
    store: o.store,
    offline: o.offline ?? false,
    transport: o.transport ?? webSocket(o.webSocket),
    session: { ...defaultConfig, client: o.name ?? "", ...o.session },
    lease: o.lease ?? defaultLease,
    clock: o.clock ?? systemClock,
    poll: o.poll ?? 1000,
    channel: o.channel ?? broadcast,
    wakes: o.wakes ?? browserWakes,
  };
}
