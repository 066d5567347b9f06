import type { Lease, Store } from "../../../src/store/contract.ts";
import { add, type Case, entry, equal, list, refused, type Suite } from "./suite.ts";

const jump = () => crypto.getRandomValues(new BigUint64Array(1))[0]! >> 16n;

/** Reserves n ordinals of the store's own device. */
const lease = (st: Store, n: number, j = 0n) => st.reserve(st.device, n, j);

/** Notes every ordinal of leases, failing where one was seen before. */
function issue(seen: Set<string>, ...leases: Lease[]): void {
  for (const l of leases) {
    for (let o = l.start; o < l.start + BigInt(l.n); o++) {
      const name = `${l.device} ${o}`;
      if (seen.has(name)) throw new Error(`ordinal ${name} was given twice`);
      seen.add(name);
    }
  }
}

/** 50 openings within one tick of any clock; no clock is asked. */
async function idsDiffer(s: Suite) {
  const seen = new Set<string>();
  for (let i = 0; i < 50; i++) {
    const st = await s.open();
    issue(seen, await lease(st, 8));
    await st.close();
  }
  equal("ids", seen.size, 50 * 8);
}

async function markNeverLowered(s: Suite) {
  const [a, b] = [await s.open(), await s.open()];
  const first = await lease(a, 8);
  const second = await lease(b, 8);
  await a.close();
  const third = await lease(await s.open(), 8);
  issue(new Set(), first, second, third);
  equal("third start", third.start, 17n);
}

async function copyGivesOtherIds(s: Suite) {
  const st = await s.open();
  await lease(st, 8);
  const twin = await s.afterCrash();
  equal("device", twin.device, st.device);
  // Without the jump the copies would give the same ids: that is what it is for.
  equal("starts without a jump", (await lease(st, 8)).start, (await lease(twin, 8)).start);
  const leases = [];
  for (const of of [st, twin, st, twin]) leases.push(await lease(of, 8, jump()));
  issue(new Set(), ...leases);
}

async function reservationsAtOnce(s: Suite) {
  const handles = [await s.open(), await s.open(), await s.open()];
  issue(new Set(), ...(await Promise.all(Array.from({ length: 30 }, (_, i) => lease(handles[i % 3]!, 8)))));
}

async function devicesApart(s: Suite) {
  const st = await s.open();
  const [one, two] = [new Uint8Array(16), new Uint8Array(16)];
  one.set([1]);
  two.set([2]);
  one[15] = two[15] = 7;
  const a = await st.reserve(one, 8, 0n);
  const b = await st.reserve(two, 8, 0n);
  equal("starts", a.start, b.start);
  issue(new Set(), a, b, await lease(st, 8));
}

/** Fail closed: a second try doesn't find it mended. */
async function damagedMark(s: Suite) {
  let st = await s.open();
  const before = await lease(st, 8, 3n);
  await add(st, entry("r", 1));
  await st.close();
  for (const n of [-1, 0, 1, 15, 17, 32]) {
    await s.medium.setMark(before.device, n < 0 ? undefined : new Uint8Array(n));
    st = await s.open();
    for (let i = 0; i < 2; i++) await refused(lease(st, 8), "corrupt");
    equal("rows", (await list(st)).length, 1);
    await st.close();
  }
  const mark = new Uint8Array(16);
  new DataView(mark.buffer).setBigUint64(0, (before.start + 7n) >> 64n);
  new DataView(mark.buffer).setBigUint64(8, (before.start + 7n) & 0xffff_ffff_ffff_ffffn);
  await s.medium.setMark(before.device, mark);
  issue(new Set(), before, await lease(await s.open(), 8));
}

async function ordinalsRunOut(s: Suite) {
  let st = await s.open();
  const device = st.device;
  await st.close();
  await s.medium.setMark(device, new Uint8Array(16).fill(0xff).fill(0xf7, 15));
  st = await s.open();
  for (const [n, j] of [
    [9, 0n],
    [1, 1n],
    [8, (1n << 48n) - 1n],
  ] as const)
    await refused(lease(st, n, j), "overflow");
  for (const [n, j] of [
    [0, 0n],
    [8, 1n << 48n],
    [1.5, 0n],
    [8, -1n],
  ] as const)
    await refused(lease(st, n, j), "bad_lease");
  // The refusals left the mark, so the last eight are still there.
  equal("last lease", (await lease(st, 8)).start, (1n << 128n) - 8n);
  await refused(lease(st, 1), "overflow");
}

async function oneOwner(s: Suite) {
  const st = await s.open();
  equal("owner before", await st.owner(), undefined);
  await refused(st.bind({ actor: "a", server: "" }), "bad_change");
  const alice = { actor: "alice", server: "s1" };
  await st.bind(alice);
  await st.bind(alice);
  const other = await s.open();
  await refused(other.bind({ actor: "bob", server: "s1" }), "wrong_store");
  await refused(other.bind({ actor: "alice", server: "s2" }), "wrong_store");
  equal("owner", await (await s.afterCrash()).owner(), alice);
}

export const marks: readonly Case[] = [
  ["C01 ids differ over openings", idsDiffer],
  ["C02 the mark is never lowered", markNeverLowered],
  ["C05 a copied store gives other ids", copyGivesOtherIds],
  ["reservations at once", reservationsAtOnce],
  ["devices that share their low bits", devicesApart],
  ["a damaged mark gives no ids", damagedMark],
  ["ordinals run out", ordinalsRunOut],
  ["one owner", oneOwner],
];
