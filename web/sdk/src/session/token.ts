/** Tokens: when the app is asked for one, and when one is offered (docs/spec/client.md, 4, "Tokens"). */

import { ClientError } from "../errors.ts";
import { backOff, cut, setState, tryAfter } from "./connect.ts";
import { delay, share } from "./delay.ts";
import { effect } from "./doing.ts";
import type { Machine } from "./machine.ts";
import { sendHello } from "./welcome.ts";

/** Says that a token is needed, as the server refuses the one there is. */
export const invalid = (): ClientError => new ClientError("session_invalid", "the server doesn't accept the token");
const signedOutError = (): ClientError => new ClientError("signed_out", "the app signed out");

/** Whether an error is of a code; of another tab's or another realm's making too. */
const isCode = (e: unknown, code: string): boolean => (e as { code?: unknown } | undefined)?.code === code;

/** The greatest time that a claim may say, s. */
const lastSecond = Number.MAX_SAFE_INTEGER / 1000;

/** Reads when a token expires, Unix ms, without verifying it. 0 where it doesn't say so. */
export function expiry(token: string): number {
  const parts = token.split(".");
  if (parts.length !== 3) return 0;
  try {
    const text = atob((parts[1] as string).replaceAll("-", "+").replaceAll("_", "/"));
    const { exp } = JSON.parse(text) as { exp?: unknown };
    return typeof exp === "number" && exp > 0 && exp < lastSecond ? Math.floor(exp * 1000) : 0;
  } catch {
    return 0;
  }
}

/** How long a token is good for by its own word, ms; undefined where it doesn't say. */
function left(m: Machine, token: string): number | undefined {
  const exp = expiry(token);
  if (exp === 0) return undefined;
  const { serverOffset } = m.link;
  return exp - (serverOffset === undefined ? m.now.wall : serverOffset + m.now.mono);
}

const expired = (m: Machine, token: string): boolean => (left(m, token) ?? 1) <= 0;

/** Starts a try to connect: with a token that was refused and may have become good, or with one of the app's. */
export function begin(m: Machine): void {
  const l = m.link;
  l.dials++;
  l.again = false;
  const { late } = l;
  if (late !== "" && late !== l.refused) {
    l.late = "";
    return tokenToConnect(m, late, undefined);
  }
  if (offersAgain(m)) return dial(m, l.refused);
  l.phase = "asking";
  askToken(m);
  if (l.auth === undefined) setState(m, "connecting", undefined, 0);
}

/** Whether a refused token is offered once more without asking the app. */
function offersAgain(m: Machine): boolean {
  const l = m.link;
  return l.refused !== "" && !expired(m, l.refused) && m.now.mono < l.called + m.cfg.tokenEvery;
}

/** Asks the app, unless it has been and has not answered. */
export function askToken(m: Machine): void {
  const l = m.link;
  if (l.calling) return;
  l.calling = true;
  l.called = m.now.mono;
  l.callBy = m.now.mono + m.cfg.tokenWithin;
  effect(m, { kind: "askToken" });
}

/** Tells once that the app takes its time. */
export function tokenOverdue(m: Machine): void {
  const l = m.link;
  if (l.callBy === 0 || m.now.mono < l.callBy) return;
  l.callBy = 0;
  if (l.phase !== "asking" && !l.paused) return;
  l.auth = new ClientError("token_slow", "the token function hasn't answered in time");
  needToken(m, l.auth, 0);
}

function dial(m: Machine, token: string): void {
  const l = m.link;
  l.offered = token;
  l.conn++;
  l.frames = 0;
  l.phase = "dialing";
  l.at = m.now.mono + m.cfg.dialWithin;
  m.counts.connects++;
  effect(m, { kind: "dial", conn: l.conn });
}

/** Goes on with what the app gave, on a new connection or for a renewal on the open one. */
export function gotToken(m: Machine, token: string, error: unknown): void {
  const l = m.link;
  l.calling = false;
  l.callBy = 0;
  if (isCode(error, "signed_out")) return signedOut(m);
  let bad = error;
  if (bad === undefined && (token === "" || token === l.foreign)) bad = l.foreign === "" ? invalid() : foreign();
  switch (l.phase) {
    case "asking":
      return tokenToConnect(m, token, bad);
    case "up":
      return tokenToRenew(m, token, bad);
    case "waiting":
    case "dialing":
    case "greeting":
    case "closing":
      if (bad === undefined) l.late = token;
  }
}

function tokenToConnect(m: Machine, token: string, error: unknown): void {
  const l = m.link;
  const bad = error ?? (token === l.refused && expired(m, token) ? invalid() : undefined);
  if (bad !== undefined) {
    l.auth = bad;
    return backOff(m, bad);
  }
  if (token !== l.refused) {
    l.auth = undefined;
    setState(m, "connecting", undefined, 0);
  }
  dial(m, token);
}

function tokenToRenew(m: Machine, token: string, bad: unknown): void {
  const l = m.link;
  const early = l.renewing;
  l.renewing = false;
  if (bad !== undefined) return renewLater(m, bad);
  if (l.hello !== "") {
    l.again = true;
  } else if (token === l.refused) {
    renewLater(m, invalid());
  } else if (token === l.token && early && l.again) {
    l.again = false; // the app has another one by now
    askToken(m);
  } else if (token === l.token && early) {
    planRenewal(m);
  } else {
    l.offered = token;
    sendHello(m);
  }
}

/** Sets when the app is asked for the next token: well before this one expires, and not when everybody else does. */
export function planRenewal(m: Machine): void {
  const l = m.link;
  l.renewAt = 0;
  const rest = left(m, l.token);
  if (rest === undefined) return;
  if (rest <= 0) return renewLater(m, invalid());
  const after = Math.floor(rest / 2) + share(Math.floor(rest / 4), m.cfg.rand());
  l.renewAt = Math.max(m.now.mono + after, l.called + m.cfg.base);
}

/** Asks for the token that follows the present one, or offers one that was refused once more. */
export function renew(m: Machine): void {
  const l = m.link;
  if (offersAgain(m) && l.hello === "") {
    l.offered = l.refused;
    return sendHello(m);
  }
  l.renewing = true;
  askToken(m);
}

/** Tries again after the delay of the law. That the app is needed is told once the session has ended. */
export function renewLater(m: Machine, why: unknown): void {
  const l = m.link;
  l.tries++;
  const d = delay(m.cfg.base, m.cfg.rowCap, l.tries, m.cfg.rand());
  l.renewAt = m.now.mono + d;
  if (!l.paused) return;
  l.auth = why;
  needToken(m, why, d);
}

/** The greatest delay of a reconnect: a token that is refused is offered less often than a server is looked for. */
export function backOffCap(m: Machine): number {
  return m.link.auth === undefined ? m.cfg.connCap : Math.max(m.cfg.rowCap, m.cfg.connCap);
}

/** Tells the app, once, that there is no session without it. */
export function needToken(m: Machine, why: unknown, retryIn: number): void {
  if (m.link.state !== "auth_required" || isCode(why, "signed_out")) setState(m, "auth_required", why, retryIn);
}

/** Asks the app for its new token and offers it, whatever the connection is doing. */
export function newToken(m: Machine): void {
  const l = m.link;
  l.refused = l.foreign = "";
  l.gone = false;
  switch (l.phase) {
    case "up":
      l.renewAt = 0;
      l.again ||= l.calling;
      return askToken(m);
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

/** Ends the connection and all asking. */
function signedOut(m: Machine): void {
  const l = m.link;
  l.gone = true;
  l.auth = signedOutError();
  l.again = false;
  if (l.phase === "waiting" || l.phase === "asking") {
    l.phase = "idle";
    needToken(m, l.auth, 0);
  } else if (l.phase !== "idle" && l.phase !== "closing") {
    cut(m, l.auth);
  }
}

/** Pauses the outbox and asks the app for another token, once. That the session ended is told where none comes. */
export function sessionInvalid(m: Machine): void {
  const l = m.link;
  if (l.paused || l.phase !== "up") return;
  l.paused = true;
  l.refused = l.token;
  if (l.hello !== "") return;
  l.renewAt = 0;
  l.renewing = false;
  askToken(m);
}

const foreign = (): ClientError => new ClientError("actor_mismatch", "the token is another actor's");

/** Ends a connection on which another actor's token was offered: nothing is sent, nothing shown. */
export function actorMismatch(m: Machine): void {
  const l = m.link;
  l.auth = foreign();
  l.foreign = l.offered;
  cut(m, l.auth);
}
