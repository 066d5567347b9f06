import { readdirSync, readFileSync } from "node:fs";
import type { Value } from "./match.ts";

/** One thing that is done. README.md of test/cases tells which fields a word takes. */
export interface Step {
  readonly do: string;
  readonly note?: string;
  readonly name?: string;
  readonly as?: string;
  readonly store?: string;
  readonly to?: string;
  readonly kind?: string;
  readonly how?: string;
  readonly room?: Value;
  readonly id?: Value;
  readonly text?: Value;
  readonly data?: Value;
  readonly frame?: Value;
  readonly method?: string;
  readonly path?: Value;
  readonly query?: Record<string, Value>;
  readonly header?: Record<string, Value>;
  readonly body?: Value;
  readonly status?: number;
  readonly rooms?: Record<string, string>;
  readonly ms?: Value;
  readonly wall?: Value;
  readonly mono?: Value;
  readonly n?: Value;
  readonly value?: Value;
  readonly within?: Value;
  readonly error?: string;
  readonly expect?: Value;
  readonly later?: boolean;
  readonly skip?: readonly string[];
  readonly limits?: Record<string, Value>;
  readonly var?: string;
  readonly in?: readonly Value[];
  readonly steps?: readonly Step[];
}

/** Scenario is one run, independent of the others. */
export interface Scenario {
  readonly name: string;
  readonly world: "server" | "script";
  readonly config?: Record<string, Value>;
  readonly vars?: Record<string, Value>;
  readonly steps: readonly Step[];
}

/** Case is one file. */
export interface Case {
  readonly id: string;
  readonly title: string;
  readonly right: string;
  readonly scenarios: readonly Scenario[];
}

const dir = new URL("../../../../test/cases/testdata/", import.meta.url);

/** All cases, from where they are. */
export function allCases(): Case[] {
  const files = readdirSync(dir).filter((f) => f.endsWith(".json"));
  return files.sort().map((f) => JSON.parse(readFileSync(new URL(f, dir), "utf8")) as Case);
}
