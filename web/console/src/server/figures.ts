/** The server's figures, asked again every two seconds while somebody looks. */

import { signal } from "@preact/signals";
import { ask } from "../core/api.ts";
import { token } from "../core/sign-in.ts";
import type { Histogram } from "./percentile.ts";

export interface Figures {
  readonly at: number;
  readonly started: number;
  readonly epoch: string;
  readonly sends: Readonly<Record<string, number>>;
  readonly resumes: Readonly<Record<string, number>>;
  readonly cursorAlarms: number;
  readonly connections: number;
  readonly subscriptions: number;
  readonly activeRooms: number;
  readonly delivered: number;
  readonly queue: { readonly commands: number; readonly bytes: number };
  readonly store: {
    readonly bytes: number;
    readonly messages: number;
    readonly results: number;
    readonly rooms: number;
  };
  readonly commitSeconds: Histogram;
  readonly commitGroup: Histogram;
}

/** Between two readings, ms. */
const every = 2_000;
/** How many readings a chart shows: six minutes. */
const kept = 180;

/** Readings by rising time, of one run of the server. */
export const readings = signal<readonly Figures[]>([]);
export const fault = signal("");

/** Reads until the function returned is called. */
export function watchFigures(): () => void {
  const stopped = new AbortController();
  let timer: ReturnType<typeof setTimeout>;
  const read = async () => {
    try {
      take(await ask<Figures>("/v1/server/figures", { token: await token(), signal: stopped.signal }));
      fault.value = "";
    } catch (e) {
      if (stopped.signal.aborted) return;
      fault.value = (e as Error).message;
    }
    timer = setTimeout(read, every);
  };
  void read();
  return () => {
    stopped.abort();
    clearTimeout(timer);
  };
}

function take(next: Figures): void {
  const before = readings.value;
  // Another run counts from nothing again: a difference across the two would be no rate.
  const same = before.at(-1)?.started === next.started;
  readings.value = [...(same ? before.slice(1 - kept) : []), next];
}

/** One value for each pair of readings, as a rate a second. */
export function rates(list: readonly Figures[], of: (f: Figures) => number): number[] {
  return list.slice(1).map((f, i) => {
    const last = list[i]!;
    const seconds = (f.at - last.at) / 1000;
    return seconds > 0 ? Math.max(0, of(f) - of(last)) / seconds : 0;
  });
}
