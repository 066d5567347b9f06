/**
 * A host of clients for the Go runner of the case files (test/cases/host_test.go): it obeys lines, and answers each by a line.
 * Stores are media in this process that outlive their clients, so that one can be killed.
 */

import { createInterface } from "node:readline";
import { WebSocket } from "ws";
import { systemClock } from "../../src/client/clock.ts";
import { MemoryMedium, openMemoryStore } from "../../src/store/memory.ts";
import type { WebSocketConstructor } from "../../src/transport/websocket.ts";
import { Agent, kindOf } from "./agent.ts";

/** A line as the Go runner writes it. */
interface Line {
  readonly Do: string;
  readonly Client?: string;
  readonly Path?: string;
  readonly To?: string;
  readonly URL?: string;
  readonly Token?: string;
  readonly Session?: Record<string, unknown> | null;
  readonly Rand?: number;
  readonly Lease?: number;
  readonly Offline?: boolean;
  readonly Poll?: number;
  readonly Room?: string;
  readonly ID?: string;
  readonly Text?: string;
  readonly Data?: unknown;
  readonly N?: number;
  readonly Wall?: number;
  readonly Mono?: number;
  readonly Method?: string;
  readonly After?: boolean;
}

const agents = new Map<string, Agent>();
const media = new Map<string, MemoryMedium>();

function medium(path: string): MemoryMedium {
  const m = media.get(path) ?? new MemoryMedium();
  media.set(path, m);
  return m;
}

function agentOf(name: string): Agent {
  const a = agents.get(name) ?? new Agent(() => performance.now());
  agents.set(name, a);
  return a;
}

async function openClient(a: Agent, l: Line): Promise<void> {
  const lower = ([k, v]: [string, unknown]) => [k.charAt(0).toLowerCase() + k.slice(1), v];
  const session = Object.fromEntries(Object.entries(l.Session ?? {}).map(lower));
  const { moved } = a;
  const { Rand: rand, Lease: lease } = l;
  await a.open(
    {
      url: l.URL ?? "",
      store: await openMemoryStore({ medium: medium(l.Path ?? "") }),
      offline: l.Offline ?? false,
      webSocket: WebSocket as unknown as WebSocketConstructor,
      session: { ...session, ...(rand !== undefined && { rand: () => rand }) },
      clock: {
        now: () => {
          const { wall, mono } = systemClock.now();
          return { wall: wall + moved.wall, mono: mono + moved.mono };
        },
        after: systemClock.after,
      },
      name: "cases",
      channel: () => undefined,
      ...(lease !== undefined && { lease }),
      ...(l.Poll !== undefined && { poll: l.Poll }),
    },
    l.Token ?? "",
  );
}

/** The elements of a list behind the first N; where there are none it waits for news, for the time of Wall in ms. */
async function news(a: Agent, l: Line): Promise<unknown> {
  const list = l.Do === "events" ? a.events : a.delivered;
  if (list.length <= (l.N ?? 0) && l.Wall) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, l.Wall);
      a.onNews = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
  return list.slice(l.N ?? 0);
}

async function obey(l: Line): Promise<unknown> {
  if (l.Do === "copy") return void media.set(l.To ?? "", await medium(l.Path ?? "").copy());
  const a = agentOf(l.Client ?? "");
  switch (l.Do) {
    case "open":
      return openClient(a, l);
    case "kill": {
      // What the store holds at this moment is what the next one finds.
      const copy = await medium(l.Path ?? "").copy();
      await a.close();
      agents.delete(l.Client ?? "");
      media.set(l.Path ?? "", copy);
      return null;
    }
    case "events":
    case "delivered":
      return news(a, l);
  }
  return a.call({
    ...{ method: l.Do, kind: l.Method ?? "", after: l.After ?? false, data: l.Data ?? undefined },
    ...{ room: l.Room ?? "", id: l.ID ?? "", text: l.Text ?? "", value: l.Token ?? "" },
    ...{ n: l.N ?? 0, wall: l.Wall ?? 0, mono: l.Mono ?? 0 },
  });
}

console.error(JSON.stringify({ msg: "listening" }));
for await (const line of createInterface({ input: process.stdin })) {
  let answer: object;
  try {
    answer = { Value: (await obey(JSON.parse(line) as Line)) ?? null, Error: "", Text: "" };
  } catch (e) {
    answer = { Value: null, Error: kindOf(e), Text: String(e) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
for (const a of agents.values()) if (a.isOpen) await a.close();
