import { ClientError, ServerError } from "../errors.ts";
import type { ErrorFrame, Welcome } from "../protocol/frames.ts";
import { defaultLimits } from "../protocol/frames.ts";
import type { Owner } from "../store/contract.ts";
import { liftHolds, retryAfter } from "./answer.ts";
import { sendAsks } from "./ask.ts";
import { cut, setState } from "./connect.ts";
import { command, ref } from "./doing.ts";
import type { Machine } from "./machine.ts";
import { actorMismatch, askToken, invalid, planRenewal, renewLater } from "./token.ts";
import { tickViews } from "./view.ts";
import { newWindow } from "./window.ts";

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
  l.features = e.features ?? [];
  l.hello = l.refused = "";
  l.auth = undefined;
  l.paused = false;
  if (l.offered !== l.token) {
    l.token = l.offered;
    liftHolds(m);
  }
  if (l.phase === "greeting") begin(m);
  planRenewal(m);
  if (l.late !== "" && l.late !== l.token) l.again = true;
  l.late = "";
  if (l.again) {
    l.again = false;
    askToken(m);
  }
  setState(m, "online", undefined, 0);
  tickViews(m);
  sendAsks(m);
}

/** Begins what runs while a connection is up. */
function begin(m: Machine): void {
  const l = m.link;
  l.phase = "up";
  l.upSince = l.heard = m.now.mono;
  l.pingAt = m.now.mono + m.cfg.pingEvery;
  m.window = newWindow();
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
  const why = invalid();
  if (l.phase === "up") return renewLater(m, why);
  l.auth = why;
  cut(m, why);
}
