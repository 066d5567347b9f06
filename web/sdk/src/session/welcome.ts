import { ClientError, ServerError } from "../errors.ts";
import type { ErrorFrame, Welcome } from "../protocol/frames.ts";
import { defaultLimits } from "../protocol/frames.ts";
import type { Owner } from "../store/contract.ts";
import { liftHolds, retryAfter } from "./answer.ts";
import { sendAsks } from "./ask.ts";
import { backOff, cut, setState, tryAfter } from "./connect.ts";
import { delay } from "./delay.ts";
import { command, effect, ref } from "./doing.ts";
import type { Machine } from "./machine.ts";
import { startPace } from "./pace.ts";
import { tickViews } from "./view.ts";

const invalid = (cause?: unknown) =>
  new ClientError("session_invalid", "the server doesn't accept the token", cause === undefined ? {} : { cause });

/** Goes on with a token, on a new connection or for a renewal on the open one. */
export function gotToken(m: Machine, token: string, error: unknown): void {
  const l = m.link;
  const bad = error ?? (token === "" || token === l.refused ? invalid() : undefined);
  if (l.phase === "asking") {
    if (bad !== undefined) {
      l.auth = bad;
      return backOff(m, bad);
    }
    l.offered = token;
    l.auth = undefined;
    setState(m, "connecting", undefined, 0);
    l.conn++;
    l.frames = 0;
    l.phase = "dialing";
    l.at = m.now.mono + m.cfg.dialWithin;
    m.counts.connects++;
    effect(m, { kind: "dial", conn: l.conn });
  } else if (l.phase === "up" && l.hello === "") {
    if (bad !== undefined) return renewLater(m, bad);
    l.offered = token;
    sendHello(m);
  } else if (l.phase === "up" && bad === undefined) {
    l.again = true;
  }
}

/** Asks the app for its new token and offers it, whatever the connection is doing. */
export function newToken(m: Machine): void {
  const l = m.link;
  l.refused = "";
  switch (l.phase) {
    case "up":
      l.renewAt = 0;
      return effect(m, { kind: "askToken" });
    case "asking":
    case "dialing":
    case "greeting":
      l.again = true;
      return;
    case "idle":
    case "waiting":
      if (!l.want) return;
      l.giveUp = undefined;
      l.dials = 0;
      tryAfter(m, 0);
  }
}

/** Opens a connection's talk, or renews its session. */
export function sendHello(m: Machine): void {
  const l = m.link;
  l.hello = ref(m, "h");
  l.at = m.now.mono + m.cfg.welcomeWithin;
  command(m, { type: "hello", ref: l.hello, token: l.offered, client: m.cfg.client || undefined });
}

/** Opens the way: rooms first, then questions, then the outbox. */
export function welcome(m: Machine, e: Welcome): void {
  const l = m.link;
  if ((e.ref && e.ref !== l.hello) || l.hello === "") return; // of an earlier hello
  if (!e.actor || !e.server || !e.epoch || e.dedupe.retentionMs <= 0) {
    m.counts.garbled++;
    return cut(m, new ClientError("protocol", "the server broke the protocol"));
  }
  if (!isOwner(m, e)) {
    l.giveUp = new ClientError("wrong_store", "the store belongs to another actor or server");
    return cut(m, l.giveUp);
  }
  l.serverOffset = e.serverTime - m.now.mono;
  l.retention = e.dedupe.retentionMs;
  l.limits = { ...defaultLimits, ...(e.limits as Partial<typeof defaultLimits>) };
  l.hello = l.refused = "";
  l.auth = undefined;
  l.paused = false;
  l.renewAt = 0;
  if (l.offered !== l.token) {
    l.token = l.offered;
    liftHolds(m);
  }
  if (l.phase === "greeting") begin(m);
  if (l.again) {
    l.again = false;
    effect(m, { kind: "askToken" });
  }
  setState(m, "online", undefined, 0);
  tickViews(m);
  sendAsks(m);
}

/** Begins what runs while a connection is up. */
function begin(m: Machine): void {
  const l = m.link;
  l.phase = "up";
  l.upSince = m.now.mono;
  l.pingAt = m.now.mono + m.cfg.pingEvery;
  m.pace = startPace(m.cfg.paceStart, m.now.mono, m.pace.backlog);
  m.doing.evict = m.aside > 0;
  m.evictAt = m.now.mono + m.cfg.evictEvery;
}

/** Checks whom the store belongs to, and has it noted at the first welcome. */
function isOwner(m: Machine, { actor, server }: Owner): boolean {
  const have = m.owner;
  if (have && (have.actor !== actor || (have.server !== "" && have.server !== server))) return false;
  if (!have?.server) {
    m.owner = { actor, server };
    m.doing.bind = m.owner;
  }
  return true;
}

/** Takes in an error that answers a hello. */
export function helloRefused(m: Machine, e: ErrorFrame): void {
  const l = m.link;
  l.hello = "";
  l.comeBack = retryAfter(m, e);
  if (e.code === "actor_mismatch") return actorMismatch(m);
  if (e.code !== "session_invalid") return cut(m, new ServerError(e));
  l.refused = l.offered;
  if (l.phase === "up") return renewLater(m, invalid());
  l.auth = invalid();
  cut(m, l.auth);
}

/** Pauses the outbox and asks the app for another token, once. */
export function sessionInvalid(m: Machine): void {
  const l = m.link;
  if (l.paused || l.phase !== "up") return;
  l.paused = true;
  l.auth = invalid();
  l.refused = l.token;
  if (l.hello === "") effect(m, { kind: "askToken" });
  setState(m, "auth_required", l.auth, 0);
}

/** Asks the app again after the delay of the law. */
function renewLater(m: Machine, why: unknown): void {
  const l = m.link;
  l.tries++;
  const d = delay(m.cfg.base, m.cfg.connCap, l.tries, m.cfg.rand());
  l.renewAt = m.now.mono + d;
  if (!l.paused) return;
  l.auth = why;
  setState(m, "auth_required", why, d);
}

/** Ends a connection on which another actor's token was offered: nothing is sent, nothing shown. */
export function actorMismatch(m: Machine): void {
  const l = m.link;
  l.auth = new ClientError("actor_mismatch", "the token is another actor's");
  l.refused = l.offered;
  cut(m, l.auth);
}
