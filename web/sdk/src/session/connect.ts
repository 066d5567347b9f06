import { ClientError } from "../errors.ts";
import type { defaultLimits, Pong } from "../protocol/frames.ts";
import { unsendAsks } from "./ask.ts";
import { delay, share } from "./delay.ts";
import { command, effect, emit, ref } from "./doing.ts";
import type { ConnectionState } from "./event.ts";
import { connectionLost, wrote } from "./flight.ts";
import { received } from "./frame.ts";
import type { LinkInput, Lost } from "./input.ts";
import type { Machine } from "./machine.ts";
import { backOffCap, begin, gotToken, needToken, newToken, renew, tokenOverdue } from "./token.ts";
import { dropViews } from "./view.ts";
import { sendHello } from "./welcome.ts";
import { measure, times4 } from "./window.ts";

/**
 * Where the connection stands.
 *
 * - `idle`: not wanted, or given up
 * - `waiting`: until link.at
 * - `asking`: for a token
 * - `dialing`: until link.at at the latest
 * - `greeting`: hello is out, its welcome is not in
 * - `up`: welcomed
 * - `closing`: Close is out, its Lost is not in
 */
export type Phase = "idle" | "waiting" | "asking" | "dialing" | "greeting" | "up" | "closing";

/** Link is the connection, and what outlives it. */
export interface Link {
  /** The app's wish. */
  want: boolean;
  phase: Phase;
  /** Number of the last dial. */
  conn: number;
  /** mono: when the phase ends by itself. */
  at: number;
  /** Failed tries in a row, for the delay. */
  tries: number;
  /** Tries since connect or the last stable connection, for the maximum. */
  dials: number;
  /** mono: of the welcome. */
  upSince: number;
  /** ms: the server's word for the next try. */
  comeBack: number;
  /** The token of the last hello. */
  offered: string;
  /** The token of the last welcome. */
  token: string;
  /** A token that the server refused: offered again by the delay law, the app is asked for another now and then. */
  refused: string;
  /** A token of another actor: not offered again. */
  foreign: string;
  /** Why a token is needed. */
  auth: unknown;
  /** The app was asked for a token, and has not answered. */
  calling: boolean;
  /** What it answered when no token was waited for: the next one to be offered. */
  late: string;
  /** mono: when it was last asked. */
  called: number;
  /** mono: its answer is overdue; 0 where that was told, or none is out. */
  callBy: number;
  /** The app signed out: nothing is tried until its word. */
  gone: boolean;
  /** It was asked in good time before the token expires. */
  renewing: boolean;
  /** The ref of the hello that is out. */
  hello: string;
  /** mono: when the app is asked again for a token, 0 where not. */
  renewAt: number;
  /** The app has a newer token than the one that is out: it is asked for that after the welcome. */
  again: boolean;
  /** The session ended: nothing is sent until it is renewed. */
  paused: boolean;
  /** Why no connection is tried after this one. */
  giveUp: unknown;
  /** Why this end closed the connection. */
  why: unknown;
  /** The server said when to come back: nothing new is sent. */
  draining: boolean;
  frames: number; // numbered on this connection
  pingAt: number;
  /** mono: some frame must come by then; 0 where none is asked for. */
  pongBy: number;
  /** The ref of the last ping, while its pong is awaited. */
  ping: string;
  /** mono: when it was sent. */
  pinged: number;
  /** mono: when the last frame came. */
  heard: number;
  /** An answer about a row is overdue, and no frame came since: nothing more about rows is sent. */
  doubt: boolean;
  /** What the server announced in its welcome. */
  features: readonly string[];
  /** Server time − monotonic time of the last welcome. */
  serverOffset: number | undefined;
  retention: number;
  limits: typeof defaultLimits | undefined;
  state: ConnectionState;
}

/** A connection that nobody wished for yet. */
export function idleLink(): Link {
  return {
    ...{ want: false, phase: "idle", conn: 0, at: 0, tries: 0, dials: 0, upSince: 0, comeBack: 0 },
    ...{ offered: "", token: "", refused: "", foreign: "", auth: undefined, hello: "", renewAt: 0, again: false },
    ...{ calling: false, late: "", called: 0, callBy: 0, gone: false, renewing: false },
    ...{ ping: "", pinged: 0, heard: 0, doubt: false, features: [] },
    ...{ paused: false, giveUp: undefined, why: undefined, draining: false },
    ...{ frames: 0, pingAt: 0, pongBy: 0, serverOffset: undefined, retention: 0, limits: undefined, state: "offline" },
  };
}

export function handleLink(m: Machine, i: LinkInput): void {
  const l = m.link;
  const here = "conn" in i && i.conn === l.conn;
  switch (i.kind) {
    case "connect":
      l.want = true;
      if (l.phase === "idle" || l.phase === "waiting") {
        l.tries = l.dials = 0;
        l.refused = l.foreign = "";
        l.giveUp = undefined;
        l.gone = false;
        tryAfter(m, 0);
      }
      return;
    case "disconnect":
      return disconnect(m);
    case "visible":
      if (l.phase === "waiting") l.at = m.now.mono;
      return hurry(m);
    case "newToken":
      return newToken(m);
    case "token":
      return gotToken(m, i.token, i.error);
    case "connected":
      if (!here || l.phase !== "dialing") return;
      l.phase = "greeting";
      return sendHello(m);
    case "wrote":
      return here ? wrote(m, i.n) : undefined;
    case "received":
      if (!here || (l.phase !== "up" && l.phase !== "greeting")) return;
      hear(m);
      return received(m, i.frame);
    case "garbled":
      if (!here) return;
      hear(m);
      m.counts.garbled++;
      return;
    case "lost":
      return here && isOpen(l.phase) ? lost(m, i) : undefined;
  }
}

/** Takes in that some frame came. */
function hear(m: Machine): void {
  m.link.pongBy = 0;
  m.link.heard = m.now.mono;
  m.link.doubt = false;
}

function isOpen(p: Phase): boolean {
  return p === "dialing" || p === "greeting" || p === "up" || p === "closing";
}

/** Plans the next try to connect. */
export function tryAfter(m: Machine, ms: number): void {
  m.link.phase = "waiting";
  m.link.at = m.now.mono + ms;
}

function disconnect(m: Machine): void {
  const l = m.link;
  l.want = false;
  if (l.phase === "waiting" || l.phase === "asking") l.phase = "idle";
  else closeConnection(m);
  setState(m, "offline", undefined, 0);
}

/** Ends the connection from this end. Its flights stand until the driver tells what was written. */
export function closeConnection(m: Machine): void {
  const l = m.link;
  if (!isOpen(l.phase) || l.phase === "closing") return;
  l.phase = "closing";
  m.doing.frames = [];
  effect(m, { kind: "close", conn: l.conn });
}

/** Closes the connection for a reason that the app is told. */
export function cut(m: Machine, why: unknown): void {
  m.link.why = why;
  closeConnection(m);
}

/** Ends a connection, or a try to have one. */
function lost(m: Machine, { written, error }: Lost): void {
  const l = m.link;
  const why = l.why ?? error;
  connectionLost(m, written);
  dropViews(m, written);
  unsendAsks(m, written);
  if (l.upSince !== 0 && m.now.mono - l.upSince >= m.cfg.stableAfter) l.tries = l.dials = 0;
  l.upSince = l.renewAt = l.pingAt = l.pongBy = 0;
  l.why = undefined;
  l.hello = "";
  l.paused = l.draining = false;
  l.ping = "";
  l.features = [];
  l.doubt = false;
  if (!l.want) {
    l.phase = "idle";
    setState(m, "offline", undefined, 0);
  } else if (l.giveUp !== undefined) {
    l.phase = "idle";
    setState(m, "gave_up", l.giveUp, 0);
  } else if (l.gone) {
    l.phase = "idle";
    needToken(m, l.auth, 0);
  } else {
    backOff(m, why);
  }
}

/** Waits for the next try, by the delay law and not before the server's word. */
export function backOff(m: Machine, why: unknown): void {
  const l = m.link;
  if (m.cfg.maxTries > 0 && l.dials >= m.cfg.maxTries) {
    l.phase = "idle";
    return setState(m, "gave_up", why, 0);
  }
  l.tries++;
  let d = delay(m.cfg.base, backOffCap(m), l.tries, m.cfg.rand());
  if (l.comeBack > 0) {
    const spread = Math.floor(Math.min(l.comeBack, m.cfg.connCap) / 2);
    d = Math.max(d, l.comeBack + share(spread, m.cfg.rand()));
    l.comeBack = 0;
  }
  tryAfter(m, d);
  if (l.auth !== undefined) needToken(m, l.auth, d);
  else setState(m, "offline", why, d);
}

/** Tells the app where the connection stands, where that is news. */
export function setState(m: Machine, state: ConnectionState, error: unknown, retryIn: number): void {
  if (m.link.state === state && error === undefined) return;
  m.link.state = state;
  emit(m, { type: "connection", state, error, retryIn });
}

/** Sees to what time brings to the connection. */
export function tickLink(m: Machine): void {
  const l = m.link;
  switch (l.phase) {
    case "waiting":
      return m.now.mono >= l.at ? begin(m) : undefined;
    case "asking":
      return tokenOverdue(m);
    case "dialing":
    case "greeting":
      if (m.now.mono >= l.at) cut(m, noAnswer());
      return;
    case "up":
      return tickUp(m);
  }
}

const noAnswer = () => new ClientError("no_answer", "no answer in time");

/** Pings, and notices silence, an overdue renewal and a server that drains without closing. */
function tickUp(m: Machine): void {
  const l = m.link;
  const now = m.now.mono;
  if ((l.pongBy !== 0 && now >= silentBy(m)) || (l.hello !== "" && now >= l.at)) return cut(m, noAnswer());
  if (l.draining && now >= l.at) return cut(m, new ClientError("draining", "the server is going away"));
  if (now >= l.pingAt) {
    if (l.pongBy === 0) l.pongBy = now + m.cfg.pongWithin;
    sendPing(m);
  }
  if (l.renewAt !== 0 && now >= l.renewAt) {
    l.renewAt = 0;
    renew(m);
  }
  tokenOverdue(m);
}

function sendPing(m: Machine): void {
  const l = m.link;
  l.pingAt = m.now.mono + m.cfg.pingEvery;
  l.ping = ref(m, "p");
  l.pinged = m.now.mono;
  command(m, { type: "ping", ref: l.ping });
}

/** Makes sure that an open connection is alive, where there is reason to doubt it. */
export function hurry(m: Machine): void {
  const l = m.link;
  if (l.phase !== "up" || l.draining) return;
  const { hurryWithin, pageWithin } = m.cfg;
  const within =
    m.pongs.mean === undefined ? hurryWithin : times4(m.pongs, hurryWithin, Math.max(hurryWithin, pageWithin));
  const by = m.now.mono + within;
  if (l.pongBy === 0) {
    l.pongBy = by;
    return sendPing(m);
  }
  l.pongBy = Math.min(l.pongBy, by);
}

/** When the connection is given up, if no frame comes. Rows that are awaited may be long under way in one frame. */
export function silentBy(m: Machine): number {
  const l = m.link;
  const since = awaitingRows(m);
  return since === 0 ? l.pongBy : Math.max(l.pongBy, Math.max(l.heard, since) + m.cfg.pageWithin);
}

/** When rows were last asked for that are not here, 0 where none are awaited. */
function awaitingRows(m: Machine): number {
  let since = 0;
  for (const { view: v } of m.order) if (v.sub === "asked" && v.want) since = Math.max(since, v.asked);
  for (const a of m.asks) if (a.sent !== 0 && a.command.type === "history") since = Math.max(since, a.at);
  return since;
}

/** Measures the way there and back. */
export function pong(m: Machine, e: Pong): void {
  const l = m.link;
  if (l.ping === "" || e.ref !== l.ping) return;
  measure(m.pongs, m.now.mono - l.pinged);
  l.ping = "";
}
