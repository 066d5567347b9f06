import type { Command } from "../protocol/frames.ts";
import type { Change, Owner, Row } from "../store/contract.ts";
import type { Effect, OutFrame } from "./effect.ts";
import type { ClientEvent } from "./event.ts";
import type { Machine } from "./machine.ts";
import type { OutRow } from "./rows.ts";

/** Collects what one step does. */
export interface Doing {
  bind?: Owner;
  added: OutRow[];
  touched: Set<OutRow>;
  /** Of confirmations and views, after those of rows. */
  changes: Change[];
  evict: boolean;
  frames: OutFrame[];
  effects: Effect[];
}

/** A step that has done nothing yet. */
export const nothing = (): Doing => ({
  added: [],
  touched: new Set(),
  changes: [],
  evict: false,
  frames: [],
  effects: [],
});

/** Adds an effect. */
export function effect(m: Machine, e: Effect): void {
  m.doing.effects.push(e);
}

/** Tells the app. */
export function emit(m: Machine, event: ClientEvent): void {
  effect(m, { kind: "emit", event });
}

/** Makes a ref, whose first letter says which kind of command it is of. */
export function ref(m: Machine, kind: string): string {
  return kind + (++m.refs).toString(36);
}

/** Numbers a frame of the present connection and puts it in line. */
export function command(m: Machine, c: Command, row?: Row): number {
  m.doing.frames.push({ n: ++m.link.frames, command: c, row });
  return m.link.frames;
}

/** The server's time for rows, to which 0 means never. */
export function serverNow(m: Machine): number {
  return Math.max(1, (m.link.serverOffset ?? -m.now.mono) + m.now.mono);
}
