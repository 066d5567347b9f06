import { sendAsks } from "./ask.ts";
import { silentBy, tickLink } from "./connect.ts";
import { remaining } from "./delay.ts";
import { timeOut } from "./flight.ts";
import type { Now } from "./input.ts";
import type { Machine } from "./machine.ts";
import { mendAll } from "./outbox.ts";
import { isSending, next } from "./pump.ts";
import type { RoomState } from "./rows.ts";
import { isWanted, tickViews } from "./view.ts";

/** How far wall − mono may shrink unseen, ms: both are read one after the other and rounded. */
const clockJitter = 100;

/** Takes in the moment. Where the wall clock went back, the rows that it left in the future are mended. */
export function advance(m: Machine, now: Now): void {
  m.now = now;
  m.steps++;
  const ahead = now.wall - now.mono;
  if (m.clock !== undefined && ahead > m.clock - clockJitter) {
    m.clock = Math.max(m.clock, ahead);
    return;
  }
  m.clock = ahead;
  mendAll(m);
}

/** Sees to what time brings. */
export function tick(m: Machine): void {
  if (m.broken !== undefined) return;
  tickLink(m);
  timeOut(m);
  tickViews(m);
  sendAsks(m);
  if (m.link.phase === "up" && m.now.mono >= m.evictAt) {
    m.evictAt = m.now.mono + m.cfg.evictEvery;
    m.doing.evict ||= m.aside > 0;
  }
}

/**
 * The monotonic time at which there is something to do again, 0 for never. What is due already was done in this step, or waits
 * for something else than time: waking for it would be a busy loop.
 */
export function nextWake(m: Machine): number {
  const times: number[] = [];
  const l = m.link;
  switch (l.phase) {
    case "asking":
      times.push(l.callBy);
      break;
    case "waiting":
    case "dialing":
    case "greeting":
      times.push(l.at);
      break;
    case "up":
      times.push(l.pingAt, l.callBy, l.renewAt, m.evictAt, ...m.flights.map((f) => f.by));
      if (l.pongBy !== 0) times.push(silentBy(m));
      if (l.hello !== "" || l.draining) times.push(l.at);
      if (isSending(m)) {
        times.push(m.window.until);
        for (const r of m.order) times.push(r.view.placeAt, roomWake(r), rowWake(m, r));
      }
  }
  const soonest = Math.min(...times.filter((at) => at > m.now.mono));
  return Number.isFinite(soonest) ? soonest : 0;
}

/** When a room's view waits for something, 0 for never. */
function roomWake({ view: v }: RoomState): number {
  switch (v.sub) {
    case "asked":
      return v.by;
    case "live":
      return v.aheadBy;
    case "none":
      return isWanted(v) ? v.at : 0;
  }
  return 0;
}

/** When a room's next row is due, 0 for never or for something else than time. */
function rowWake(m: Machine, r: RoomState): number {
  const w = r.holders === 0 ? next(r) : undefined;
  if (w?.row.reason !== "") return 0;
  if (w.asking) return w.askAt;
  const left = w.lifted ? 0 : remaining(w.row, m.now.wall);
  return left > 0 ? m.now.mono + left : 0;
}
