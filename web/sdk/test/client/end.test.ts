import { describe, expect, test } from "vitest";
import type { Store } from "../../src/store/contract.ts";
import { openMemoryStore } from "../../src/store/memory.ts";
import { all, Rig } from "../support/rig.ts";
import { settle } from "../support/virtual.ts";

const code = (c: string) => expect.objectContaining({ code: c });

describe("events", () => {
  test("an iterator gives what comes, counts what it missed, and ends with the client", async () => {
    const rig = new Rig();
    const { client } = await rig.open({ offline: true });
    const events = client.events();
    const hub = (client as unknown as { hub: { emit(e: object): void } }).hub;
    for (let i = 0; i < 1030; i++) hub.emit({ type: "changed" });
    const end = (async () => {
      const list = [];
      for await (const e of events) list.push(e);
      return list;
    })();
    await settle();
    hub.emit({ type: "changed" });
    await client.close();
    const list = await end;
    expect(list.length).toBe(1026);
    expect(list[1024]).toEqual({ type: "missed", n: 6 });
    expect(await all(client.events())).toEqual([]);
  });

  test("leaving the loop, and a signal, end an iterator", async () => {
    const rig = new Rig();
    const { client } = await rig.open({ offline: true });
    client.connect();
    for await (const e of client.events()) {
      expect(e.type).toBe("connection");
      break;
    }
    const signal = AbortSignal.abort();
    expect(await all(client.events({ signal }))).toEqual([]);
  });

  test("a listener that throws, calls the client and stops itself costs nobody an event", async () => {
    const rig = new Rig();
    const { client } = await rig.open();
    const states: string[] = [];
    let threw = 0;
    const stop = client.on("connection", () => {
      stop();
      client.connect();
      throw new Error("always");
    });
    client.on("threw", () => {
      threw++;
      throw new Error("this one too");
    });
    client.on("connection", (e) => states.push(e.state));
    await rig.time.pass(100);
    expect([states, threw]).toEqual([["online"], 1]);
  });
});

describe("the end", () => {
  const hangs: Store["add"] = () => new Promise(() => {});

  test("close ends within a second where the store hangs, and answers all who wait", async () => {
    const rig = new Rig();
    const store = await openMemoryStore({ medium: rig.medium });
    const { client } = await rig.online({ store });
    store.add = hangs;
    store.close = () => new Promise(() => {});
    const waiting = [rig.say(client, "tea", "x"), client.history("tea", 0, 10), client.waitAck("tea", "y")];
    const ended = Promise.all(waiting.map((w) => w.catch((e) => e.code)));
    await settle();
    const from = rig.time.t;
    await rig.time.wait(client.close(), 1000);
    expect(rig.time.t - from).toBeLessThan(1000);
    expect(await ended).toEqual(["closed", "closed", "no_row"]);
    await expect(client.send("tea", client.nextMessageId(), { text: "x" })).rejects.toEqual(code("zero_id"));
    await expect(client.retry("tea", "x")).rejects.toEqual(code("closed"));
    await client.close();
  });

  test("a failed open closes the store", async () => {
    const rig = new Rig();
    const store = await openMemoryStore({ medium: rig.medium });
    let closed = 0;
    const close = store.close.bind(store);
    store.close = () => {
      closed++;
      return close();
    };
    store.reserve = () => Promise.reject(new Error("corrupt"));
    await expect(rig.open({ store })).rejects.toThrow("corrupt");
    await expect(rig.open({ store, name: "x".repeat(129) })).rejects.toEqual(code("bad_option"));
    expect(closed).toBe(2);
  });

  test("a machine that fails is told of once, and nothing is sent", async () => {
    const rig = new Rig();
    const { client, events } = await rig.online({
      session: {
        rand: () => {
          throw new Error("no dice");
        },
      },
    });
    const id = client.nextMessageId();
    const sent = client.send("tea", id, { text: "x" }).catch((e) => e);
    await rig.time.pass(1000);
    expect(events.filter((e) => e.type === "failed")).toMatchObject([{ error: { message: "no dice" } }]);
    await expect(rig.say(client, "tea", "y")).rejects.toEqual(code("broken"));
    await rig.time.wait(client.close(), 1000);
    expect(await sent).toBeUndefined(); // it was stored, and waits for the next start
  });

  test("tokens: a function is asked each time, a refused one is not offered again, setToken goes on", async () => {
    const rig = new Rig();
    let asked = 0;
    const { client } = await rig.open({
      token: async () => {
        asked++;
        if (asked === 1) throw new Error("no sign-in yet");
        return "ann";
      },
    });
    await rig.time.pass(10);
    expect(client.state).toMatchObject({ state: "auth_required", retryIn: 1000 });
    await rig.time.pass(2000);
    expect([client.state.state, asked]).toEqual(["online", 2]);
    client.setToken("bob");
    await rig.time.pass(100);
    expect(client.state).toMatchObject({ state: "gave_up", error: { code: "wrong_store" } });
    client.setToken("ann");
    await rig.time.pass(100);
    expect(client.state.state).toBe("online");
  });
});
