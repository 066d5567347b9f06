/** What the browser's own tracing says of a page's main thread. */

import type { Browser, Page } from "playwright-core";

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly tid: number;
  readonly pid: number;
  /** Microseconds. */
  readonly dur?: number;
  readonly args?: { readonly name?: string };
}

export interface Tasks {
  /** Tasks that were traced: with none the other figures would say nothing. */
  readonly traced: number;
  /** ms by the clock of the longest task of the main thread. */
  readonly longest: number;
  readonly over50: number;
  readonly over100: number;
}

/** Traces every renderer's main thread while f runs; a browser with one page has one. */
export async function traced(browser: Browser, page: Page, f: () => Promise<void>): Promise<Tasks> {
  await browser.startTracing(page, { categories: ["toplevel"] });
  await f();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  const main = new Set(
    traceEvents
      .filter((e) => e.ph === "M" && e.name === "thread_name" && e.args?.name === "CrRendererMain")
      .map((e) => `${e.pid}/${e.tid}`),
  );
  const tasks = traceEvents
    .filter((e) => e.name.endsWith("RunTask") && e.ph === "X" && main.has(`${e.pid}/${e.tid}`))
    .map((e) => (e.dur ?? 0) / 1000);
  if (tasks.length === 0) throw new Error("the trace holds no task of a page's main thread");
  return {
    traced: tasks.length,
    longest: Math.round(tasks.reduce((a, b) => Math.max(a, b), 0)),
    over50: tasks.filter((t) => t > 50).length,
    over100: tasks.filter((t) => t > 100).length,
  };
}
