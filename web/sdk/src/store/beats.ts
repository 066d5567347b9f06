/** Beats are the drainer's signs of life in the store. */

import { type Beat, parseHead } from "./head.ts";
import type { Medium } from "./tables.ts";

export interface Beats {
  /** The last one, undefined where there never was one. */
  read(): Promise<Beat | undefined>;
  /** Gives a sign, unless the fence has been raised above the given one: then false. */
  write(fence: number, hidden: boolean, free: boolean): Promise<boolean>;
}

/** The beats of a medium. A power cut may take one: it is none that anybody waits for. */
export function beatsOf(medium: Medium): Beats {
  return {
    read: () => medium.run("readonly", async (t) => (await t.get("meta", "beat")) as Beat | undefined),
    write(fence, hidden, free) {
      return medium.run(
        "readwrite",
        async (t) => {
          const before = (await t.get("meta", "beat")) as Beat | undefined;
          if (parseHead(await t.get("meta", "head")).fence !== fence) return false;
          t.put("meta", { name: "beat", fence, n: (before?.n ?? 0) + 1, hidden, free } satisfies Beat);
          return true;
        },
        "relaxed",
      );
    },
  };
}
