import type { Content, PageFrame, ServerFrame } from "../protocol/frames.ts";
import { command, effect, ref } from "./doing.ts";
import type { Question } from "./effect.ts";
import type { Machine } from "./machine.ts";
import { own } from "./own.ts";
import { isSending } from "./pump.ts";
import { sessionInvalid } from "./token.ts";
import { maxBytes, quarter } from "./view.ts";

/** A question of the app. Questions change nothing, so one is asked again on the next connection. */
export interface Asked {
  readonly ticket: number;
  readonly command: Question;
  /** The number of its frame on this connection, 0 while it isn't out. */
  sent: number;
  /** mono: when it was sent. */
  at: number;
  /** How much its answer may weigh, where an earlier one was cut; 0 for the most. */
  bytes: number;
}

export function ask(m: Machine, ticket: number, c: Question): void {
  m.asks.push({ ticket, command: { ...c, ref: ref(m, "a") }, sent: 0, at: 0, bytes: 0 });
}

export function unask(m: Machine, ticket: number): void {
  m.asks = m.asks.filter((a) => a.ticket !== ticket);
}

/** Sends what was not yet asked on this connection. */
export function sendAsks(m: Machine): void {
  if (!isSending(m)) return;
  for (const a of m.asks) {
    if (a.sent !== 0) continue;
    const c = a.command.type === "history" ? { ...a.command, maxBytes: maxBytes(m, a.bytes) } : a.command;
    a.sent = command(m, c);
    a.at = m.now.mono;
  }
}

/** Forgets what was asked on a connection that is lost. An answer that was under way with it may have been too long. */
export function unsendAsks(m: Machine, written: number): void {
  for (const a of m.asks) {
    if (a.sent !== 0 && a.sent <= written && a.command.type === "history") a.bytes = quarter(m, a.bytes);
    a.sent = 0;
  }
}

/** Gives a frame to whoever asked for it. */
export function answerAsk(m: Machine, frame: ServerFrame): void {
  const a = m.asks.find((a) => a.command.ref === frame.ref);
  if (!a) return;
  if (frame.type === "error" && frame.code === "session_invalid") {
    a.sent = 0;
    return sessionInvalid(m);
  }
  unask(m, a.ticket);
  effect(m, { kind: "answer", ticket: a.ticket, frame });
}

/** Answers a history question. Own rows in it settle the outbox as those of a live stream do. */
export function page(m: Machine, e: PageFrame): void {
  answerAsk(m, e);
  owns(m, e.messages);
}

/** Settles the outbox rows of messages that move no view. */
export function owns(m: Machine, messages: readonly Content[]): void {
  for (const msg of messages) own(m, msg);
}
