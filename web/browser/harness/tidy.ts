/**
 * What a test file leaves behind is ended when the file is over, whether its tests passed, failed or never began; and with the
 * runner itself, however that ends. Tidying up is no part of what a test shows: it fails none, and says what it couldn't do.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll } from "vitest";

/** How long one thing may take to end, ms: far more than any does. */
const patience = 30_000;

const open = new Map<object, () => Promise<unknown>>();

/** Notes how something is ended, for a test file that doesn't come to it. */
export function atEnd(what: object, end: () => Promise<unknown>): void {
  open.set(what, end);
}

/** Ends something that was noted, once; later calls do nothing. */
export async function end(what: object): Promise<void> {
  const ending = open.get(what);
  open.delete(what);
  if (!ending) return;
  const late = new AbortController();
  const told = (why: unknown) => console.warn(`tidying up: ${why}`);
  await Promise.race([
    ending().catch(told),
    delay(patience, undefined, { signal: late.signal }).then(
      () => told(`takes over ${patience} ms`),
      () => undefined,
    ),
  ]);
  late.abort();
}

/** To be called once a test file, before its own hooks: what is noted first is ended last, and after them. */
export function tidyUp(): void {
  afterAll(async () => {
    for (const what of [...open.keys()].reverse()) await end(what);
  });
}

/** Removes a folder into which a process that has just ended, or one of its own, may still write. */
export async function remove(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

/**
 * Starts a program that ends with this process, also where that is killed; its standard error is a pipe. It leads a group, so that
 * all of it can be killed.
 */
export function start(program: string, words: readonly string[]): ChildProcess {
  const tied = process.platform === "linux" ? ["setpriv", "--pdeathsig", "KILL", program] : [program];
  const p = spawn(tied[0]!, [...tied.slice(1), ...words], { stdio: ["ignore", "ignore", "pipe"], detached: true });
  process.once("exit", () => kill(p, "SIGKILL"));
  return p;
}

/** Sends a signal to a program and all that it started, and waits until it has ended. */
export async function stop(p: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const over = p.exitCode !== null || p.signalCode !== null ? undefined : once(p, "exit");
  kill(p, signal);
  await over;
}

function kill(p: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (p.pid !== undefined) process.kill(-p.pid, signal);
  } catch {
    // It has ended, and all of its group with it.
  }
}
