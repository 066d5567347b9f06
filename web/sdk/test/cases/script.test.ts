import { describe, expect, test } from "vitest";
import { allCases, type Step } from "./case.ts";
import { Run, words } from "./run.ts";

/** Scenarios about files of SQLite: the browser's stores have tests of their own for what these show. */
const elsewhere = new Set(["C11/version 1", "C17/no database", "C17/cut, or its header overwritten"]);

const scenarios = allCases().flatMap((c) => c.scenarios.map((s) => ({ ...s, id: c.id, right: c.right })));
const scripts = scenarios.filter((s) => s.world === "script" && !elsewhere.has(`${s.id}/${s.name}`));

describe("cases from the field, every frame in the file", () => {
  test.each(scripts)("$id $name", async (s) => {
    const run = new Run(s);
    await run.steps(s.steps);
    await run.close();
  });
});

test("what runs elsewhere is there, and needs a word that this runner doesn't have", () => {
  const all = (steps: readonly Step[] = []): string[] => steps.flatMap((s) => [s.do, ...all(s.steps)]);
  for (const name of elsewhere) {
    const s = scenarios.find((s) => `${s.id}/${s.name}` === name);
    expect(all(s?.steps).some((w) => !(w in words))).toBe(true);
  }
  expect(scripts.length).toBeGreaterThan(35);
});
