import { describe, it } from "vitest";
import { sealKey } from "../help/key.ts";
import { databaseMedium } from "../help/medium.ts";
import { nodeEnv } from "../help/node.ts";
import { cases } from "./suite/index.ts";
import { runCase } from "./suite/suite.ts";

describe.each(["Web Locks", "beats alone", "Web Locks, sealed"])("IndexedDB store by %s", (how) => {
  it.each(cases.map((c) => [c[0], c] as const))(
    "%s",
    async (_, c) => {
      const env = nodeEnv(how === "beats alone" ? { locks: undefined } : {});
      const key = how.includes("sealed") ? await sealKey() : undefined;
      await runCase(c, async () => databaseMedium(env, key));
    },
    60_000,
  );
});
