import { ClientError } from "../errors.ts";
import type { defaultLimits } from "../protocol/frames.ts";
import { unsendAsks } from "./ask.ts";
import { delay, share } from "./delay.ts";
import { command, effect, emit, ref } from "./doing.ts";
import type { ConnectionState } from "./event.ts";
import { connectionLost, wrote } from "./flight.ts";
import { received } from "./frame.ts";
import type { LinkInput, Lost } from "./input.ts";
import type { Machine } from "./machine.ts";
import { resetView } from "./view.ts";
import { gotToken, newToken, sendHello } from "./welcome.ts";

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
  /** A token that the server refused: not offered again. */
  refused: string;
  /** Why a token is needed. */
  auth: unknown;
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
    ...{ offered: "", token: "", refused: "", auth: undefined, hello: "", renewAt: 0, again: false },
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
        l.refused = "";
        l.giveUp = undefined;
        tryAfter(m, 0);
      }
      return;
    case "disconnect":
      return disconnect(m);
    case "visible":
      if (l.phase === "waiting") l.at = m.now.mono;
      return;
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
      l.pongBy = 0;
      return received(m, i.frame);
    case "garbled":
      if (!here) return;
      l.pongBy = 0;
      m.counts.garbled++;
      return;
    case "lost":
      return here && isOpen(l.phase) ? lost(m, i) : undefined;
  }
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
  for (const r of m.order) resetView(r.view);
  unsendAsks(m);
  if (l.upSince !== 0 && m.now.mono - l.upSince >= m.cfg.stableAfter) l.tries = l.dials = 0;
  l.upSince = l.renewAt = l.pingAt = l.pongBy = 0;
  l.why = undefined;
  l.hello = "";
  l.paused = l.draining = false;
  m.gate = { open: false, probe: undefined, turn: m.gate.turn };
  if (!l.want) {
    l.phase = "idle";
    setState(m, "offline", undefined, 0);
  } else if (l.giveUp !== undefined) {
    l.phase = "idle";
    setState(m, "gave_up", l.giveUp, 0);
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
  let d = delay(m.cfg.base, m.cfg.connCap, l.tries, m.cfg.rand());
  if (l.comeBack > 0) {
    const spread = Math.floor(Math.min(l.comeBack, m.cfg.connCap) / 2);
    d = Math.max(d, l.comeBack + share(spread, m.cfg.rand()));
    l.comeBack = 0;
  }
  tryAfter(m, d);
  if (l.auth !== undefined) setState(m, "auth_required", l.auth, d);
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
      if (m.now.mono < l.at) return;
      l.phase = "asking";
      l.again = false;
      l.dials++;
      effect(m, { kind: "askToken" });
      if (l.auth === undefined) setState(m, "connecting", undefined, 0);
      return;
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
  if ((l.pongBy !== 0 && now >= l.pongBy) || (l.hello !== "" && now >= l.at)) return cut(m, noAnswer());
  if (l.draining && now >= l.at) return cut(m, new ClientError("draining", "the server is going away"));
  if (now >= l.pingAt) {
    l.pingAt = now + m.cfg.pingEvery;
    l.pongBy = now + m.cfg.pongWithin;
    command(m, { type: "ping", ref: ref(m, "p") });
  }
  if (l.renewAt !== 0 && now >= l.renewAt) {
    l.renewAt = 0;
    effect(m, { kind: "askToken" });
  }
}
