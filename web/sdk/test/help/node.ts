/** Node as if it were a browser: IndexedDB and Web Locks in memory. */

import { IDBFactory, IDBKeyRange } from "fake-indexeddb";
import type { TabEnv } from "../../src/tabs/env.ts";
import { FakeLocks } from "./locks.ts";

/** One origin's facilities, seen by one tab of it. */
export function nodeEnv(more: Partial<TabEnv> = {}): TabEnv {
  return {
    indexedDB: new IDBFactory(),
    IDBKeyRange,
    locks: new FakeLocks().tab().locks,
    channel: (name) => new BroadcastChannel(name) as unknown as ReturnType<TabEnv["channel"]>,
    page: { hidden: () => false, listen: () => () => {} },
    mono: () => performance.now(),
    after(ms, f) {
      const timer = setTimeout(f, ms);
      return () => clearTimeout(timer);
    },
    ...more,
  };
}
