import { readFileSync } from "node:fs";
import { hexToBytes } from "@noble/hashes/utils.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isSdkId, makeId, ordinalBytes, zeroId } from "../../src/ids/id.ts";
import { Issuer, maxUnused } from "../../src/ids/issuer.ts";
import { lastOf, ordinalFrom, randomJump, reserveLease } from "../../src/ids/lease.ts";
import { isClientMessageId } from "../../src/protocol/names.ts";

type Vectors = {
  derive: { device: string; ordinal: string; id: string }[];
  reserve: { mark: string; n: string; jump: string; start?: string; last?: string; error?: string }[];
  parse: { text: string; sdk: boolean; valid: boolean }[];
};
const file = new URL("../../../../client/ids/testdata/vectors.json", import.meta.url);
const v = JSON.parse(readFileSync(file, "utf8")) as Vectors;
const ordinal = (hex: string): bigint => ordinalFrom(hexToBytes(hex));
const device = new Uint8Array(16).fill(1);
const lease = (start: bigint, n: number) => ({ device, start, n });

describe("the vectors of the Go SDK", () => {
  test("derive", () => {
    expect(v.derive.length).toBeGreaterThan(90);
    for (const c of v.derive) {
      expect(makeId(hexToBytes(c.device), ordinal(c.ordinal))).toBe(c.id);
      expect(isSdkId(c.id)).toBe(true);
    }
  });

  test("reserve", () => {
    expect(v.reserve.length).toBeGreaterThan(15);
    for (const c of v.reserve) {
      const reserve = () => reserveLease(device, ordinal(c.mark), Number(c.n), BigInt(c.jump));
      if (c.error) {
        expect(reserve).toThrow(expect.objectContaining({ code: c.error }));
        continue;
      }
      expect([reserve().start, lastOf(reserve())]).toEqual([ordinal(c.start!), ordinal(c.last!)]);
    }
  });

  test("parse", () => {
    for (const c of v.parse)
      expect([c.text, isSdkId(c.text), isClientMessageId(c.text)]).toEqual([c.text, c.sdk, c.valid]);
  });
});

describe("leases", () => {
  test("a mark of another length is corruption", () => {
    for (const n of [0, 15, 17]) {
      expect(() => ordinalFrom(new Uint8Array(n))).toThrow(expect.objectContaining({ code: "bad_mark" }));
    }
  });

  test("a mark is read as it was written, also out of a larger buffer", () => {
    fc.assert(
      fc.property(fc.bigInt(0n, (1n << 128n) - 1n), (o) => {
        const b = new Uint8Array(20);
        b.set(ordinalBytes(o), 3);
        return ordinalFrom(b.subarray(3, 19)) === o;
      }),
    );
  });

  test("leases of one mark never overlap, and a copy's jump keeps it away", () => {
    const mark = fc.bigInt(0n, 1n << 100n);
    const n = fc.integer({ min: 1, max: 2 ** 40 });
    const jump = fc.bigInt(0n, (1n << 48n) - 1n);
    fc.assert(
      fc.property(mark, n, jump, n, jump, (mark, n1, j1, n2, j2) => {
        const a = reserveLease(device, mark, n1, j1);
        const b = reserveLease(device, lastOf(a), n2, j2);
        expect(a.start > mark && b.start > lastOf(a)).toBe(true);
        const copy = reserveLease(device, mark, n2, j2);
        expect(j1 === j2 || copy.start > lastOf(a) || lastOf(copy) < a.start).toBe(true);
      }),
    );
  });

  test("no number of ordinals, no jump", () => {
    for (const [n, jump] of [
      [0, 0n],
      [1.5, 0n],
      [2 ** 53, 0n],
      [1, 1n << 48n],
      [1, -1n],
    ] as const) {
      expect(() => reserveLease(device, 0n, n, jump)).toThrow(expect.objectContaining({ code: "bad_lease" }));
    }
    for (let i = 0; i < 100; i++) expect(randomJump() >> 48n).toBe(0n);
  });
});

describe("the issuer", () => {
  const use = (s: Issuer, n: number): string[] =>
    Array.from({ length: n }, () => {
      const id = s.next();
      expect(s.use(id)).toBe(true);
      return id;
    });

  test("three quarters used ask for the next lease; dry without it, on with it", () => {
    const s = new Issuer();
    expect([s.needsLease, s.next()]).toEqual([true, zeroId]);
    s.addLease(lease(1n, 8));
    for (let used = 0; used < 8; used++) {
      expect(s.needsLease).toBe(used >= 6);
      use(s, 1);
    }
    expect(s.next()).toBe(zeroId);
    s.addLease(lease(100n, 8));
    expect(use(s, 1)).toEqual([makeId(device, 100n)]);
    s.addLease(lease(200n, 8));
    expect(s.needsLease).toBe(false);
    expect(() => s.addLease(lease(300n, 8))).toThrow(expect.objectContaining({ code: "bad_lease" }));
    use(s, 7);
    expect(use(s, 1)).toEqual([makeId(device, 200n)]);
  });

  test("a lease of any size asks to be followed when three quarters of it are used", () => {
    for (let n = 1; n <= 9; n++) {
      const s = new Issuer();
      s.addLease(lease(1n, n));
      let used = 0;
      for (; !s.needsLease; used++) use(s, 1);
      expect(4 * used).toBeGreaterThanOrEqual(3 * n);
      expect(used).toBeLessThanOrEqual(n);
    }
  });

  test("an exhausted lease keeps the ids that it issued", () => {
    const s = new Issuer();
    s.addLease(lease(1n, 2));
    s.addLease(lease(50n, 2));
    const held = [s.next(), s.next()];
    use(s, 2);
    expect(s.next()).toBe(zeroId);
    expect(held.map((id) => s.use(id))).toEqual([true, true]);
  });

  test("unused ids are bounded, and a released one is not issued again", () => {
    const s = new Issuer();
    s.addLease(lease(1n, 1000));
    const first = s.next();
    for (let i = 1; i < maxUnused; i++) expect(s.next()).not.toBe(zeroId);
    expect([s.next(), s.unused]).toEqual([zeroId, maxUnused]);
    expect(s.use(first)).toBe(true);
    expect(s.next()).toBe(makeId(device, 1n + BigInt(maxUnused)));
  });

  test("an id works once; zero and foreign ones never", () => {
    const s = new Issuer();
    s.addLease(lease(1n, 8));
    const id = s.next();
    expect([s.use(zeroId), s.use(makeId(device, 7n)), s.use(id), s.use(id)]).toEqual([false, false, true, false]);
    s.giveBack(id);
    expect(s.use(id)).toBe(true);
  });

  test("an ordinal whose id is zero is skipped", () => {
    const s = new Issuer((_, o) => (o % 3n === 0n ? zeroId : `id ${o}`));
    s.addLease(lease(3n, 5));
    expect(use(s, 3)).toEqual(["id 4", "id 5", "id 7"]);
    expect(s.next()).toBe(zeroId);
  });

  test("whatever is done, no id comes twice", () => {
    const step = fc.oneof(fc.constant("next" as const), fc.constant("use" as const), fc.integer({ min: 1, max: 9 }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const s = new Issuer();
        const seen = new Set<string>();
        const open: string[] = [];
        let mark = 0n;
        for (const what of steps) {
          if (typeof what === "number") {
            if (!s.needsLease) continue;
            const l = reserveLease(device, mark, what, 0n);
            mark = lastOf(l);
            s.addLease(l);
          } else if (what === "use") {
            const id = open.shift();
            expect(id === undefined || s.use(id)).toBe(true);
          } else {
            const id = s.next();
            if (id === zeroId) continue;
            expect(seen.has(id)).toBe(false);
            seen.add(id);
            open.push(id);
          }
        }
        expect(s.unused).toBe(open.length);
      }),
    );
  });
});
