/**
 * The conformance suite of stores: whatever passes it keeps the contract of src/store/contract.ts. It is that of the Go SDK
 * (client/store/storetest), and knows no test runner, so that the same cases run under Vitest and in a browser.
 */

import type {
  Arrived,
  Change,
  Confirm,
  Cursor,
  Entry,
  Key,
  Limits,
  Message,
  Result,
  Row,
  Step,
  Store,
  StoreErrorCode,
} from "../../../src/store/contract.ts";
import { isStoreError } from "../../../src/store/contract.ts";

/** What a store lives on. */
export interface TestMedium {
  /** Opens another handle. The suite closes it. */
  open(limits?: Partial<Limits>): Promise<Store>;
  /** What a crash of all tabs leaves, in other words a copy made at this moment, without locks. */
  crashed(): Promise<TestMedium>;
  /** Puts raw bytes in place of a device's mark; undefined removes it. No handle is open. */
  setMark(device: Uint8Array, mark: Uint8Array | undefined): Promise<void>;
}

/** A case of the suite. */
export type Case = readonly [name: string, test: (s: Suite) => Promise<void>];

/** Runs a case on media that `empty` makes. runs is how many random histories are tried. */
export async function runCase([, test]: Case, empty: () => Promise<TestMedium>, runs = 25): Promise<void> {
  const s = new Suite(empty, await empty(), runs);
  try {
    await test(s);
  } finally {
    await Promise.all(s.opened.map((st) => st.close()));
  }
}

/** Members in a fixed order, undefined ones left out, so that equal values give equal text. */
export function text(value: unknown): string {
  return (
    JSON.stringify(value, (_, v) => {
      if (typeof v === "bigint") return `${v}n`;
      if (v instanceof Uint8Array) return `bytes ${v}`;
      if (v === null || typeof v !== "object" || Array.isArray(v)) return v;
      return Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1)));
    }) ?? "undefined"
  );
}

export function equal<T>(what: string, got: T, want: T): void {
  if (text(got) !== text(want)) throw new Error(`${what}: ${text(got)}, want ${text(want)}`);
}

/** Fails unless the work is refused with the code. */
export async function refused(work: Promise<unknown>, code: StoreErrorCode): Promise<void> {
  let got: unknown = "no error";
  try {
    await work;
  } catch (e) {
    if (isStoreError(e, code)) return;
    got = isStoreError(e) ? `${e.code} (${e.message})` : e;
  }
  throw new Error(`refused with ${got}, want ${code}`);
}

/** One case's view. */
export class Suite {
  readonly opened: Store[] = [];
  readonly empty: () => Promise<TestMedium>;
  readonly medium: TestMedium;
  readonly runs: number;

  constructor(empty: () => Promise<TestMedium>, medium: TestMedium, runs: number) {
    this.empty = empty;
    this.medium = medium;
    this.runs = runs;
  }

  /** Opens a handle that is closed with the case. */
  async open(limits?: Partial<Limits>, medium = this.medium): Promise<Store> {
    const st = await medium.open(limits);
    this.opened.push(st);
    return st;
  }

  /** Opens a handle on what a crash now would leave. */
  async afterCrash(limits?: Partial<Limits>): Promise<Store> {
    return this.open(limits, await this.medium.crashed());
  }
}

const hex = (n: number) => n.toString(16).padStart(4, "0");

/** A queued row with a content of its own. */
export function entry(room: string, n: number): Entry {
  return {
    room,
    id: `1d${"0".repeat(26)}${hex(n)}`,
    text: `text ${n} – ναῦς`,
    data: `{"n":${n}}`,
    fingerprint: `v1:${n}`,
    queuedAt: 1000 + n,
    state: "queued",
    attempts: 0,
    interval: 0,
    lastAttemptAt: 0,
    firstSentAt: 0,
  };
}

/** Bytes of an entry's content. */
export const sizeOf = (e: Entry): number => new TextEncoder().encode(e.text + e.data).length;

/** Adds entries and returns their rows. */
export async function add(st: Store, ...entries: Entry[]): Promise<Row[]> {
  const added = await st.add(0, entries);
  return added.map((a) => {
    equal("outcome", a.outcome, "inserted");
    return a.row!;
  });
}

export const list = (st: Store): Promise<Row[]> => st.list(0, 1 << 20);

/** Applies one change and returns its result. */
export async function apply(st: Store, fence: number, c: Change): Promise<Result> {
  return (await st.apply(fence, [c]))[0]!;
}

/** The step that a first attempt takes. */
export function sending(r: Row): Step {
  return {
    kind: "step",
    position: r.position,
    revision: r.revision,
    to: "sending",
    firstSentAt: 5000,
    attempts: r.attempts + 1,
    interval: 700,
    lastAttemptAt: 6000,
    reason: "",
    asideAt: 0,
  };
}

/** A step that keeps the row's schedule. */
export function step(r: Row, to: Step["to"], more: Partial<Step> = {}): Step {
  return {
    ...sending(r),
    attempts: r.attempts,
    interval: r.interval,
    lastAttemptAt: r.lastAttemptAt,
    firstSentAt: 0,
    to,
    ...more,
  };
}

export const messageId = (seq: number): string => `m${seq}`;

/** The ack of a row. */
export const confirm = (r: Key, seq: number): Confirm => ({
  kind: "confirm",
  room: r.room,
  id: r.id,
  epoch: "e",
  seq,
  messageId: messageId(seq),
  at: 9000,
});

export const cursor = (after: number): Cursor => ({
  epoch: "e",
  after,
  messageId: after === 0 ? "" : messageId(after),
});

/** Rows of another actor, from a seq to another. */
export function foreign(room: string, from: number, to: number): Arrived[] {
  const rows: Arrived[] = [];
  for (let seq = from; seq <= to; seq++) {
    rows.push({
      room,
      epoch: "e",
      seq,
      messageId: messageId(seq),
      actor: "b",
      clientMessageId: "",
      fingerprint: "",
      text: `row ${seq}`,
      data: "",
      at: 7000 + seq,
    });
  }
  return rows;
}

/** The row by which this actor's own entry arrives. */
export const own = (e: Entry, seq: number): Arrived => ({
  ...foreign(e.room, seq, seq)[0]!,
  actor: "a",
  clientMessageId: e.id,
  fingerprint: e.fingerprint,
  text: e.text,
  data: e.data,
  at: 9000,
});

/** Tells messages by their seqs and positions. */
export const seqs = (messages: readonly Message[]): string => messages.map((m) => `${m.seq}@${m.position} `).join("");

export const feed = async (st: Store, room: string, after: number): Promise<string> =>
  seqs((await st.feed(room, after, 1000)).messages);

export const view = async (st: Store, room: string): Promise<string> => seqs(await st.view(room, 0, 1000));
