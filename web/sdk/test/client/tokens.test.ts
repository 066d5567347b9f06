/** Tokens: renewed in time, offered again where they may become good, asked for with a bound (docs/spec/client.md, 4). */

import { describe, expect, test } from "vitest";
import { ClientError } from "../../src/errors.ts";
import type { ClientEvent } from "../../src/session/event.ts";
import { Rig } from "../support/rig.ts";
import { tokenOf } from "../support/server.ts";

const needed = (events: ClientEvent[]) =>
  events.flatMap((e) => (e.type === "connection" && e.state === "auth_required" ? [e] : []));

/** Another token each time, good for a day. */
const fresh = (rig: Rig) => {
  let n = 0;
  return () => tokenOf("ann", rig.time.unix + 86_400_000 + 1000 * ++n);
};

describe("a session", () => {
  test("of 2 s is renewed by hello on the open connection before it ends, without a word of auth_required", async () => {
    const rig = new Rig();
    let asked = 0;
    const { client, events } = await rig.online({
      token: () => {
        asked++;
        return tokenOf("ann", rig.time.unix + 2000);
      },
    });
    client.subscribe("tea");
    await rig.time.pass(60_000);
    expect([rig.server.opened, needed(events)]).toEqual([1, []]);
    expect(asked).toBeGreaterThan(20);
    expect(asked).toBeLessThan(100);
    await client.close();
  });

  test("that ends although the token said otherwise is renewed where a token comes at once, and nothing flashes", async () => {
    const rig = new Rig();
    const { client, events } = await rig.online({ token: fresh(rig) });
    rig.server.expireAll();
    const id = await rig.say(client, "tea", "x");
    await rig.time.wait(client.waitAck("tea", id), 5000);
    expect(needed(events)).toEqual([]);
    expect(rig.server.opened).toBe(1);
    await client.close();
  });

  test("of a reader that ends is renewed after its next ping", async () => {
    const rig = new Rig();
    const { client, events } = await rig.online({ token: fresh(rig) });
    client.subscribe("tea");
    await rig.time.pass(1000);
    rig.server.expireAll();
    await rig.time.pass(30_000);
    expect([rig.server.opened, needed(events), rig.server.came.get("hello")]).toEqual([1, [], 2]);
    await client.close();
  });
});

describe("a token that is refused", () => {
  test("is offered again by the delay law without asking the app, told once, and taken once it is good", async () => {
    const rig = new Rig();
    let asked = 0;
    rig.server.refuses = () => true;
    const { client, events } = await rig.open({
      token: () => {
        asked++;
        return "ann";
      },
    });
    await rig.time.pass(40_000);
    expect(client.state.state).toBe("auth_required");
    expect([asked, needed(events).length]).toEqual([1, 1]);
    expect(rig.server.came.get("hello")).toBeGreaterThan(4);
    rig.server.refuses = () => false;
    await rig.time.pass(60_000);
    expect([client.state.state, asked]).toEqual(["online", 1]);
    await client.close();
  });

  test("isn't offered past its end, and the source is asked then, else every five minutes", async () => {
    const rig = new Rig();
    let asked = 0;
    rig.server.refuses = () => true;
    const { client } = await rig.open({
      token: () => {
        asked++;
        return tokenOf("ann", rig.time.unix + 10_000);
      },
    });
    await rig.time.pass(120_000);
    expect(asked).toBeGreaterThan(1);
    await client.close();
    const later = new Rig();
    let times = 0;
    later.server.refuses = () => true;
    const { client: other } = await later.open({
      token: () => {
        times++;
        return "ann";
      },
    });
    await later.time.pass(3_600_000);
    expect(times).toBeGreaterThan(5);
    expect(times).toBeLessThan(13);
    await other.close();
  });

  test("in favour of signed out ends all asking until newToken", async () => {
    const rig = new Rig();
    let out = true;
    let asked = 0;
    const { client, events } = await rig.open({
      token: async () => {
        asked++;
        if (out) throw new ClientError("signed_out", "nobody is signed in");
        return "ann";
      },
    });
    await rig.time.pass(3_600_000);
    expect([client.state.state, asked, needed(events).length]).toEqual(["auth_required", 1, 1]);
    expect(client.state.error).toMatchObject({ code: "signed_out" });
    out = false;
    client.newToken();
    await rig.time.pass(1000);
    expect([client.state.state, asked]).toEqual(["online", 2]);
    await client.close();
  });
});

describe("a token function", () => {
  test("that doesn't return is told of after 20 s, never called beside itself, and its late result taken", async () => {
    const rig = new Rig();
    let give = (_: string): void => {};
    let asked = 0;
    const { client, events } = await rig.open({
      token: () => {
        asked++;
        return new Promise<string>((resolve) => {
          give = resolve;
        });
      },
    });
    await rig.time.pass(19_000);
    expect(client.state.state).toBe("connecting");
    await rig.time.pass(2000);
    expect(client.state).toMatchObject({ state: "auth_required", error: { code: "token_slow" } });
    client.connect();
    client.newToken();
    await rig.time.pass(600_000);
    expect([asked, needed(events).length]).toEqual([1, 1]);
    give("ann");
    await rig.time.pass(1000);
    expect(client.state.state).toBe("online");
    await rig.time.wait(client.close(), 1000);
  });

  test("that never returns keeps nobody from closing", async () => {
    const rig = new Rig();
    const { client } = await rig.open({ token: () => new Promise<string>(() => {}) });
    await rig.time.pass(100);
    await rig.time.wait(client.close(), 1000);
  });

  test.each([undefined, null, 7, ""])("that gives %s is no token", async (odd) => {
    const rig = new Rig();
    const { client } = await rig.open({ token: () => odd as unknown as string });
    await rig.time.pass(100);
    expect(client.state).toMatchObject({ state: "auth_required", error: { code: "session_invalid" } });
    await client.close();
  });
});
