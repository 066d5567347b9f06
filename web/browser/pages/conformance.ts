/** The conformance suite of stores in a real browser: one call a case. */

import { browserEnv } from "../../sdk/src/tabs/env.ts";
import { storeKey } from "../../sdk/src/tabs/key.ts";
import { databaseMedium } from "../../sdk/test/help/medium.ts";
import { cases } from "../../sdk/test/store/suite/index.ts";
import { runCase } from "../../sdk/test/store/suite/suite.ts";

declare global {
  interface Window {
    conformance: { names: string[]; run(i: number, how: "plain" | "sealed"): Promise<void> };
  }
}

/** Random histories; strict durability takes a disk's time for each step. */
const runs = 5;

window.conformance = {
  names: cases.map(([name]) => name),
  async run(i, how) {
    const key = how === "sealed" ? await storeKey("conformance") : undefined;
    await runCase(cases[i]!, async () => databaseMedium(browserEnv(), key), runs);
  },
};
