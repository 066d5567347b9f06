import type { Change, Cursor, Step, Store } from "../../../src/store/contract.ts";
import {
  add,
  apply,
  type Case,
  confirm,
  cursor,
  entry,
  equal,
  foreign,
  list,
  own,
  refused,
  type Suite,
  sending,
  step,
  type TestMedium,
  view,
} from "./suite.ts";

async function oneDrains(s: Suite) {
  const [a, b] = [await s.open(), await s.open()];
  const first = await a.drain();
  await refused(a.drain(), "draining");
  await refused(b.drain(), "draining");
  await b.undrain(); // doesn't drain: nothing happens
  const row = (await add(a, entry("r", 1)))[0]!;

  await a.undrain();
  const second = await b.drain();
  if (second <= first) throw new Error(`fence ${second} after ${first}`);
  for (const fence of [0, first, second]) {
    await refused(a.apply(fence, [sending(row)]), "fenced");
    await refused(a.evict(fence, 1), "fenced");
  }
  const e = { ...entry("r", 2), state: "sending" as const, firstSentAt: 1 };
  await refused(a.add(first, [e]), "fenced");
  await refused(a.add(0, [e]), "fenced");
  await refused(b.add(second, [{ ...e, firstSentAt: 0 }]), "bad_change");
  equal("rows", (await list(a)).length, 1);
  equal("state", (await b.add(second, [e]))[0]!.row!.state, "sending");

  await b.close();
  const third = await a.drain();
  if (third <= second) throw new Error(`fence ${third} after ${second}`);
  const after = await (await s.afterCrash()).drain();
  if (after <= third) throw new Error(`fence ${after} after a crash at ${third}`);
}

async function sendingNotBelieved(s: Suite) {
  const st = await s.open();
  const row = (await add(st, entry("r", 1)))[0]!;
  const sent = (await apply(st, await st.drain(), sending(row))).row!;
  const again = await s.afterCrash();
  equal("before a drainer", [await list(again), again.inDoubt()], [[sent], []]);
  await again.drain();
  equal("in doubt", again.inDoubt(), [sent.position]);
  equal("after", await list(again), [{ ...sent, state: "queued", revision: sent.revision + 1 }]);
  equal("counts", (await again.counts()).sending, 0);
}

async function stepsGuarded(s: Suite) {
  const st = await s.open();
  const row = (await add(st, entry("r", 1)))[0]!;
  const fence = await st.drain();
  const schedule = { attempts: 1, interval: 700, lastAttemptAt: 6000 };
  const want = { ...row, ...schedule, state: "sending" as const, revision: 2, firstSentAt: 5000 };
  let res = await apply(st, fence, sending(row));
  equal("applied", [res.applied, res.row], [true, want]);
  res = await apply(st, fence, sending(row));
  equal("applied on an old revision", [res.applied, res.row], [false, want]);
  res = await apply(st, fence, { ...sending(want), firstSentAt: 5999 });
  equal("first sent at", res.row!.firstSentAt, 5000);
  res = await apply(st, fence, step(res.row!, "queued", { reason: "forbidden" }));
  equal("of a held row", [res.row!.firstSentAt, res.row!.reason], [5000, "forbidden"]);
  res = await apply(st, fence, step(res.row!, "uncertain", { asideAt: 1 }));
  equal("applied", res.applied, true);
  equal("a row aside moved by a step", (await apply(st, fence, sending(res.row!))).applied, false);
  equal("state", (await list(st))[0]!.state, "uncertain");
  const none = await apply(st, fence, { ...sending(row), position: 99 });
  equal("a row that isn't there", [none.applied, none.row], [false, undefined]);
  equal("counts", await st.counts(), { queued: 0, sending: 0, parked: 0, uncertain: 1, setAside: 0, evicted: 0 });
}

async function impossibleChanges(s: Suite) {
  const st = await s.open();
  const row = (await add(st, entry("r", 1)))[0]!;
  const fence = await st.drain();
  const bad = (more: object): Step => ({ ...sending(row), ...more });
  const gap = foreign("r", 2, 2);
  const snapshot = (room: string, at: Cursor, messages = gap): Change => ({
    kind: "snapshot",
    room,
    cursor: at,
    messages,
    now: 0,
  });
  const rows = (room: string, from: Cursor, to: Cursor, messages = gap): Change => ({
    kind: "rows",
    room,
    from,
    to,
    messages,
    now: 0,
  });
  const ownRow = own(entry("r", 1), 2);
  const changes: unknown[] = [
    undefined,
    { kind: "other" },
    bad({ to: "" }),
    bad({ to: "confirmed" }),
    bad({ attempts: -1 }),
    bad({ firstSentAt: 0 }),
    bad({ to: "parked" }),
    bad({ to: "parked", reason: "x" }),
    bad({ to: "uncertain" }),
    bad({ asideAt: 1 }),
    { ...confirm(row, 1), seq: 0 },
    { ...confirm(row, 1), epoch: "" },
    snapshot("r", { epoch: "", after: 1, messageId: "m" }, []),
    snapshot("r", { epoch: "e", after: 1, messageId: "" }, []),
    snapshot("r", cursor(1)),
    snapshot("r", { epoch: "e", after: 2, messageId: "other" }),
    snapshot("s", cursor(2)),
    snapshot("r", cursor(2), [ownRow]), // without the server's time
    snapshot("r", cursor(2), [{ ...ownRow, fingerprint: "" }]),
    rows("r", cursor(0), cursor(2)),
    rows("r", cursor(0), cursor(1)),
    rows("r", cursor(0), cursor(1), []),
    rows("r", { epoch: "f", after: 0, messageId: "" }, cursor(0), []),
    rows("s", cursor(1), cursor(2)),
  ];
  for (const c of changes) {
    await refused(st.apply(fence, [sending(row), c as Change]), "bad_change");
    equal("the good one beside it", await list(st), [row]);
  }
}

/** What is stored after each step is what a crash there leaves, and each way ends in one message. */
async function crashAtEveryStep(s: Suite) {
  const e = entry("r", 1);
  const st = await s.open();
  await st.bind({ actor: "a", server: "s" });
  const finish = async (m: TestMedium, attempts: number) => {
    const again = await s.open({}, m);
    const fence = await again.drain();
    const rows = await list(again);
    equal(
      "row",
      rows.map((r) => [r.state, r.attempts]),
      [["queued", attempts]],
    );
    const sent = (await apply(again, fence, sending(rows[0]!))).row!;
    equal("confirmed", (await apply(again, fence, confirm(sent, 1))).applied, true);
    equal("confirmed twice", (await apply(again, fence, confirm(sent, 1))).applied, false);
    equal("after", [(await list(again)).length, await view(again, "r")], [0, "1@0 "]);
  };
  let row = (await add(st, e))[0]!;
  await finish(await s.medium.crashed(), 0);
  const fence = await st.drain();
  await finish(await s.medium.crashed(), 0);
  row = (await apply(st, fence, sending(row))).row!;
  await finish(await s.medium.crashed(), 1);
  await apply(st, fence, confirm(row, 1));
  const again = await s.afterCrash();
  equal("rows after the ack", (await list(again)).length, 0);
  const [m] = await again.view("r", 0, 10);
  equal("message", [m!.text, m!.data, m!.actor, m!.clientMessageId], [e.text, e.data, "a", e.id]);
}

/** The ack reaches one while the other still thinks that it drains and sees a time-out. */
async function twoTabs(s: Suite) {
  const [a, b] = [await s.open(), await s.open()];
  const fenceA = await a.drain();
  await apply(a, fenceA, sending((await add(a, entry("r", 1)))[0]!));
  await a.undrain(); // as by a lock that was lost
  const fenceB = await b.drain();
  const row = (await apply(b, fenceB, sending((await list(b))[0]!))).row!;
  equal("attempts", row.attempts, 2);
  equal("confirmed", (await apply(b, fenceB, confirm(row, 1))).applied, true);
  await refused(a.apply(fenceA, [step(row, "queued")]), "fenced");
  equal("even with the new fence", (await apply(b, fenceB, step(row, "queued"))).applied, false);
  equal("rows", [await list(a), await list(b)], [[], []]);
}

async function eviction(s: Suite) {
  const st = await s.open({ aside: 3, asideAge: 1000 });
  const rows = await add(st, ...[1, 2, 3, 4, 5, 6].map((n) => entry("r", n)));
  const fence = await st.drain();
  const aside = (i: number, at: number) =>
    i % 2 === 0 ? step(rows[i]!, "uncertain", { asideAt: at }) : step(rows[i]!, "parked", { asideAt: at, reason: "x" });
  const evict = async (now: number, ...want: number[]) => {
    const gone = await st.evict(fence, now);
    equal(
      "evicted",
      gone.map((r) => r.position),
      want.map((i) => rows[i]!.position),
    );
    for (const r of gone) await refused(st.body(r.position), "no_row");
  };
  await apply(st, fence, aside(1, 500));
  await apply(st, fence, aside(0, 600));
  await evict(1500); // at its age, not above it
  await evict(1501, 1); // the older one
  for (let i = 2; i < 5; i++) await apply(st, fence, aside(i, 700 - i));
  await evict(1000, 0); // four aside: the oldest goes, whatever its position
  equal("counts", await st.counts(), { queued: 1, sending: 0, parked: 1, uncertain: 2, setAside: 0, evicted: 2 });
  await evict(2 ** 40, 4, 3, 2);
  equal("queued rows stay", await list(st), [rows[5]]);
}

/** A follower hears of changes, and of a drainer that ends; a hint is no more than that. */
async function hints(s: Suite) {
  const [a, b] = [await s.open(), await s.open()];
  const heard = (st: Store, hint: string) =>
    new Promise<void>((resolve) => {
      const stop = st.listen((h) => {
        if (h !== hint) return;
        stop();
        resolve();
      });
    });
  await a.drain();
  const changed = heard(b, "changed");
  await add(a, entry("r", 1));
  await changed;
  const free = heard(b, "free");
  await a.close();
  await free;
  await b.drain();
}

export const drain: readonly Case[] = [
  ["one drains", oneDrains],
  ["sending is not believed", sendingNotBelieved],
  ["steps are guarded", stepsGuarded],
  ["impossible changes", impossibleChanges],
  ["C09 a crash at every step", crashAtEveryStep],
  ["C21 two tabs", twoTabs],
  ["eviction", eviction],
  ["hints", hints],
];
