/** What the browser's own tracing says of a page's main thread. */

import type { Browser, Page } from "playwright-core";

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly tid: number;
  readonly pid: number;
  readonly dur?: number;
  /** The part of it that the thread ran: the rest it waited for a processor. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

export interface Tasks {
  /** ms of processor time of the longest task of the main thread. */
  readonly longest: number;
  readonly over50: number;
  readonly over100: number;
}

/** Traces while f runs. */
export async function traced(browser: Browser, page: Page, f: () => Promise<void>): Promise<Tasks> {
  await browser.startTracing(page, {
    categories: ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"],
  });
  await f();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  const main = new Set(
    traceEvents
      .filter((e) => e.ph === "M" && e.name === "thread_name" && e.args?.name === "CrRendererMain")
      .map((e) => `${e.pid}/${e.tid}`),
  );
  const tasks = traceEvents
    .filter((e) => e.name === "RunTask" && e.ph === "X" && main.has(`${e.pid}/${e.tid}`))
    .map((e) => (e.tdur ?? e.dur ?? 0) / 1000);
  return {
    longest: Math.round(Math.max(0, ...tasks)),
    over50: tasks.filter((t) => t > 50).length,
    over100: tasks.filter((t) => t > 100).length,
  };
}
