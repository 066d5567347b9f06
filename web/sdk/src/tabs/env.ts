/** Env: what of the browser the tabs need, so that tests can give them their own. */

import type { DatabaseEnv, Page, PageEvent } from "../store/connect.ts";

/** The way to other tabs; what is posted may be lost. A BroadcastChannel is one. */
export interface Channel {
  postMessage(message: unknown): void;
  onmessage: ((event: never) => void) | null;
  close(): void;
}

/** What of the browser the tabs need. */
export interface TabEnv extends DatabaseEnv {
  /** ms that never go back; comparable within one tab only. */
  mono(): number;
  /** `navigator.locks`; undefined where there are none. */
  readonly locks: Pick<LockManager, "request"> | undefined;
  /** Undefined where there is no BroadcastChannel. */
  channel(name: string): Channel | undefined;
}

/** The page's life as the browser tells it. */
function browserPage(): Page {
  const document = globalThis.document as Document | undefined;
  return {
    hidden: () => document?.visibilityState === "hidden",
    listen(f) {
      if (!document) return () => {};
      const ended = new AbortController();
      const on = (target: EventTarget, type: string, event: () => PageEvent) =>
        target.addEventListener(type, () => f(event()), { signal: ended.signal });
      on(document, "visibilitychange", () => (document.visibilityState === "hidden" ? "hidden" : "visible"));
      on(document, "freeze", () => "freeze");
      on(document, "resume", () => "resume");
      on(globalThis, "pagehide", () => "leave");
      on(globalThis, "pageshow", () => "resume");
      return () => ended.abort();
    },
  };
}

/** The browser's own facilities. Access alone may throw where they are blocked: then they are as good as missing. */
export function browserEnv(): TabEnv {
  const or = <T>(f: () => T | undefined): T | undefined => {
    try {
      return f();
    } catch {
      return undefined;
    }
  };
  return {
    indexedDB: or(() => globalThis.indexedDB),
    IDBKeyRange: globalThis.IDBKeyRange,
    locks: or(() => globalThis.navigator?.locks),
    channel: (name) => or(() => new BroadcastChannel(name)),
    page: browserPage(),
    mono: () => performance.now(),
    after(ms, f) {
      const timer = setTimeout(f, ms);
      return () => clearTimeout(timer);
    },
  };
}
