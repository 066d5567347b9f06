/** A tab as the store's opening wants it, on a database in memory. */

import type { DatabaseOptions } from "../../src/store/indexeddb.ts";
import type { StoreOptions } from "../../src/store/open.ts";
import { Leader } from "../../src/tabs/leader.ts";
import { type Dump, load } from "./dump.ts";
import { FakeLocks } from "./locks.ts";
import { nodeEnv } from "./node.ts";

/** One origin with its database. */
export class Origin {
  readonly locks = new FakeLocks();
  readonly factory = nodeEnv().indexedDB!;
  readonly name = "store";

  /** An origin that holds what was dumped. */
  static async of(d: Dump): Promise<Origin> {
    const o = new Origin();
    await load(o.factory, o.name, d);
    return o;
  }

  tab(o: StoreOptions = {}): DatabaseOptions {
    const env = nodeEnv({ indexedDB: this.factory, locks: this.locks.tab().locks });
    return { ...o, name: this.name, env, lock: (beats) => new Leader(env, this.name, beats) };
  }
}
