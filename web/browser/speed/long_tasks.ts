/** What the browser itself reports of a page's main thread: its long tasks, those of 50 ms and more. */

import type { Page } from "playwright-core";

export interface LongTasks {
  /** ms of the longest; 0 where none was long. */
  readonly longest: number;
  readonly over50: number;
  readonly over100: number;
}

/** Observes the page while f runs. */
export async function longTasks(page: Page, f: () => Promise<void>): Promise<LongTasks> {
  await page.evaluate(() => {
    const tasks: number[] = [];
    Object.assign(globalThis, { tasks });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) tasks.push(Math.round(entry.duration));
    }).observe({ type: "longtask" });
  });
  await f();
  const tasks = await page.evaluate(() => (globalThis as unknown as { tasks: number[] }).tasks);
  return { longest: Math.max(0, ...tasks), over50: tasks.length, over100: tasks.filter((t) => t > 100).length };
}
