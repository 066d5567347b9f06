/** A database for the conformance suite: in Node by fake-indexeddb and locks in memory, in a browser by its own. */

import type { SealKey } from "../../src/platform.ts";
import type { Limits } from "../../src/store/contract.ts";
import { openDatabase } from "../../src/store/indexeddb.ts";
import type { TabEnv } from "../../src/tabs/env.ts";
import { Leader } from "../../src/tabs/leader.ts";
import type { TestMedium } from "../store/suite/suite.ts";
import { dump, load, tamper } from "./dump.ts";

let names = 0;

export function databaseMedium(env: TabEnv, key?: SealKey, name = `conformance ${names++}`): TestMedium {
  const factory = env.indexedDB!;
  return {
    open: (limits: Partial<Limits> = {}) =>
      openDatabase({ name, limits, key, env, lock: (beats) => new Leader(env, name, beats) }),
    async crashed() {
      const copy = `conformance ${names++}`;
      await load(factory, copy, await dump(factory, name));
      // Where beats alone are the lock, that of the dead is as free as the kernel makes one.
      if (!env.locks) await tamper(factory, copy, (t) => t.objectStore("meta").delete("beat"));
      return databaseMedium(env, key, copy);
    },
    setMark: (device, mark) =>
      tamper(factory, name, (t) => {
        const hex = Array.from(device, (b) => b.toString(16).padStart(2, "0")).join("");
        if (mark) t.objectStore("marks").put({ device: hex, mark });
        else t.objectStore("marks").delete(hex);
      }),
  };
}
