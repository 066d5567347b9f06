import { brokenError } from "../errors.ts";
import { isStoreError } from "../store/contract.ts";
import { closeConnection, setState } from "./connect.ts";
import { effect, emit } from "./doing.ts";
import type { Effect } from "./effect.ts";
import type { Input, StoreFailed } from "./input.ts";
import type { Machine } from "./machine.ts";

/** Ends all work: what the store holds is unknown. It is told once, and nothing is tried again by itself. */
export function failed(m: Machine, { error, added }: StoreFailed, held: readonly Effect[]): Effect[] {
  m.waiting.forEach(({ ticket }, i) => {
    // stored before the failure: saying otherwise would have it sent twice
    const a = added[i];
    effect(m, a ? { kind: "answer", ticket, added: a } : { kind: "answer", ticket, error });
  });
  for (const { ticket } of m.asks) effect(m, { kind: "answer", ticket, error });
  m.asks = [];
  m.flights = [];
  m.waiting = [];
  m.broken = error;
  closeConnection(m);
  m.link.want = false;
  // Another handle drains it now: nothing failed, and what is true of the connection that one tells.
  if (isStoreError(error, "fenced")) {
    setState(m, "offline", undefined, 0);
  } else {
    emit(m, { type: "failed", error });
    setState(m, "offline", error, 0);
  }
  return held.filter((e) => e.kind === "answer" || e.kind === "close");
}

/** Answers what comes to a machine whose store failed: nothing is taken in, nothing is sent. */
export function refuse(m: Machine, i: Input): void {
  if (i.kind === "send" || i.kind === "ask") {
    effect(m, { kind: "answer", ticket: i.ticket, error: brokenError(m.broken) });
  } else if (i.kind === "lost" && i.conn === m.link.conn) {
    m.link.phase = "idle";
  }
}
