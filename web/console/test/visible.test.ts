import { expect, test } from "vitest";
import { named, visible } from "../src/rooms/visible.ts";

test("a name is shown without anything unseen", () => {
  for (const [name, want] of [
    ["orders", "orders"],
    ["Ελένη", "Ελένη"],
    ["pay\u202Eexe", "pay\\u202eexe"],
    ["a\u200Bb", "a\\u200bb"],
    ["\uFEFFa", "\\ufeffa"],
    ["a\u2066b\u2069", "a\\u2066b\\u2069"],
    ["a\u00ADb", "a\\u00adb"],
    ["a\u3164b", "a\\u3164b"],
    ["a\u2028b", "a\\u2028b"],
    ["a\nb\u0085", "a\\u000ab\\u0085"],
    ["a\u{E0041}b", "a\\ue0041b"],
  ] as const) {
    expect(named(name)).toBe(want);
  }
});

test("a text keeps what its script and its pictures need, and shows control characters", () => {
  expect(visible("👩\u200D🚀 a\u0007")).toBe("👩\u200D🚀 a\u2407");
});
