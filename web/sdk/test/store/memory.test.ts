import { describe, it } from "vitest";
import { MemoryMedium, openMemoryStore } from "../../src/store/memory.ts";
import { sealKey } from "../help/key.ts";
import { cases } from "./suite/index.ts";
import { runCase, type TestMedium } from "./suite/suite.ts";

function on(medium: MemoryMedium, key?: CryptoKey): TestMedium {
  return {
    open: (limits = {}) => openMemoryStore({ medium, limits, key }),
    crashed: async () => on(await medium.copy(), key),
    setMark: (device, mark) =>
      medium.run("readwrite", async (t) => {
        const name = Buffer.from(device).toString("hex");
        if (mark) t.put("marks", { device: name, mark });
        else t.delete("marks", name);
      }),
  };
}

describe.each(["plain", "sealed"])("memory store, %s", (how) => {
  it.each(cases.map((c) => [c[0], c] as const))("%s", async (_, c) => {
    const key = how === "sealed" ? await sealKey() : undefined;
    await runCase(c, async () => on(new MemoryMedium(), key));
  });
});
