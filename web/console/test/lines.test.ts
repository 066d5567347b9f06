import { expect, test } from "vitest";
import { blockLines, type Line, Lines } from "../src/rooms/lines.ts";

const line = (seq: number, text = ""): Line => ({
  seq,
  messageId: `m${seq}`,
  actor: "ann",
  clientMessageId: "",
  text,
  data: "",
  at: seq,
});
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => line(from + i));
const seqs = (l: Lines) => l.blocks.flatMap((b) => b.lines.map((x) => x.seq));

test("each seq is one line, in order, whatever way and however often it comes", () => {
  let seed = 7;
  const random = (n: number) => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    return seed % n;
  };
  for (let round = 0; round < 50; round++) {
    const lines = new Lines();
    const want = new Set<number>();
    const fresh: number[] = [];
    for (let step = 0; step < 60; step++) {
      const from = 1 + random(400);
      const some = range(from, from + random(30));
      for (const l of some) want.add(l.seq);
      fresh.push(...lines.add(random(2) ? some : some.reverse()).map((l) => l.seq));
    }
    expect(seqs(lines)).toEqual([...want].sort((a, b) => a - b));
    expect(fresh.length).toBe(want.size);
    expect(new Set(fresh)).toEqual(want);
    expect(lines.count).toBe(want.size);
    expect(new Set(lines.blocks.map((b) => b.id)).size).toBe(lines.blocks.length);
  }
});

test("a line that is there stays as it is", () => {
  const lines = new Lines();
  lines.add([line(1, "first")]);
  expect(lines.add([line(1, "second")])).toEqual([]);
  expect(lines.blocks[0]!.lines[0]!.text).toBe("first");
});

test("blocks that nothing came into are the same objects", () => {
  const lines = new Lines();
  lines.add(range(1, 3 * blockLines));
  const before = lines.blocks;
  lines.add([line(3 * blockLines + 1)]);
  expect(lines.blocks.slice(0, 3)).toEqual(before.slice(0, 3));
  expect(lines.blocks[0]).toBe(before[0]);
  expect(before.flatMap((b) => b.lines).length).toBe(3 * blockLines);
});

test("history goes in front, without what is there", () => {
  const lines = new Lines();
  lines.add(range(301, 400));
  lines.prepend(range(101, 310));
  expect(seqs(lines)).toEqual(range(101, 400).map((l) => l.seq));
  expect(lines.first).toBe(101);
  expect(lines.count).toBe(300);
});

test("trimming keeps the end", () => {
  const lines = new Lines();
  lines.add(range(1, 1000));
  lines.trim(200);
  expect(lines.last).toBe(1000);
  expect(lines.count).toBe(seqs(lines).length);
  expect(lines.count).toBeGreaterThanOrEqual(200);
  expect(lines.count).toBeLessThan(200 + blockLines);
  expect(lines.has(1000)).toBe(true);
  expect(lines.has(1)).toBe(false);
});
