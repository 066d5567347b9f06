import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { open } from "../../src/index.ts";
import { openMemoryStore } from "../../src/store/memory.ts";
import { type WebSocketConstructor, webSocket } from "../../src/transport/websocket.ts";
import { Wire } from "../support/wire.ts";

const Socket = WebSocket as unknown as WebSocketConstructor;

describe("frames over a WebSocket", () => {
  let wire: Wire;
  beforeEach(async () => {
    wire = await Wire.listen();
  });
  afterEach(() => wire.close());

  /** Dials, and notes what the connection tells. */
  function dial(url = wire.url, make: WebSocketConstructor | undefined = Socket) {
    const told: string[] = [];
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    let news = (): void => {};
    const connection = webSocket(make)(url, {
      opened: () => {
        told.push("opened");
        news();
      },
      frame: (text) => {
        told.push(text);
        news();
      },
      closed: (error) => {
        told.push(`closed ${error instanceof Error ? error.message : ""}`);
        end();
      },
    });
    const next = () =>
      new Promise<void>((resolve) => {
        news = resolve;
      });
    return { connection, told, ended, next };
  }

  test("frames go both ways, and closing is told once, at once", async () => {
    const { connection, told, next } = dial();
    await next();
    connection.send('{"type":"ping","ref":"p1"}');
    await next();
    expect(JSON.parse(told[1] as string)).toMatchObject({ type: "pong", ref: "p1" });
    connection.close();
    expect(told.at(-1)).toBe("closed ");
    connection.close();
    expect(told.length).toBe(3);
  });

  test("a server that ends is told of, with its code", async () => {
    const { told, ended, next } = dial();
    await next();
    for (const ws of wire.sockets) ws.close(1012, "draining");
    await ended;
    expect(told).toEqual(["opened", "closed the connection ended (1012 draining)"]);
  });

  test("a server that isn't there", async () => {
    const { told, ended } = dial("ws://127.0.0.1:1/v1/ws");
    await ended;
    expect(told).toEqual([
      expect.stringMatching(/^closed the connection ended before it opened \(.*\): the server isn't there/),
    ]);
  });

  test("a path that is no server's is named", async () => {
    const { createServer } = await import("node:http");
    const other = createServer((_, res) => res.writeHead(404).end());
    other.on("upgrade", (_, socket) => socket.end("HTTP/1.1 404 Not Found\r\n\r\n"));
    await new Promise<void>((listening) => other.listen(0, "127.0.0.1", listening));
    const { told, ended } = dial(`ws://127.0.0.1:${(other.address() as { port: number }).port}/chat?a=b`);
    await ended;
    expect(told[0]).toMatch(/\(.*404\): its path is \/chat, where a server of Hapax answers at \/v1\/ws$/);
    other.close();
  });

  test("what can't be a WebSocket's address is refused when the client is opened", async () => {
    for (const url of [
      "",
      "nonsense",
      "/v1/ws",
      "http://h/v1/ws",
      "https://h/v1/ws",
      "ws://",
      "ftp://h",
      "ws://h/v1/ws#x",
      "wss://me:secret@h/v1/ws",
    ]) {
      const store = await openMemoryStore();
      const refused = open({ url, token: "ann", store, webSocket: Socket });
      await expect(refused).rejects.toMatchObject({
        code: "bad_option",
        message: expect.stringContaining("wss://host/v1/ws"),
      });
      await expect(store.counts()).rejects.toMatchObject({ code: "closed" });
    }
  });

  test("closed while it is being dialled", async () => {
    const { connection, told } = dial();
    connection.close();
    expect(told).toEqual(["closed "]);
  });

  test("a binary message is no frame", async () => {
    const { told, next } = dial();
    await next();
    for (const ws of wire.sockets) ws.send(Buffer.from("{}"), { binary: true });
    await next();
    expect(told).toEqual(["opened", ""]);
  });

  test("another subprotocol is refused", async () => {
    const other = await Wire.listen("chat");
    class Lenient extends WebSocket {
      constructor(url: string) {
        super(url, "chat"); // as the package refuses by itself what it didn't ask for
      }
    }
    const { told, ended } = dial(other.url, Lenient as unknown as WebSocketConstructor);
    await ended;
    expect(told).toEqual(["closed the server doesn't speak hapax.v1"]);
    await other.close();
  });

  test("without a WebSocket the client says so, and tries again by the delay law", async () => {
    vi.stubGlobal("WebSocket", undefined);
    const client = await open({ url: wire.url, token: "ann", store: await openMemoryStore() });
    const told = await new Promise((resolve) => client.on("connection", (e) => e.error && resolve(e)));
    expect(told).toMatchObject({ state: "offline", error: { message: expect.stringContaining("no WebSocket here") } });
    await client.close();
    vi.unstubAllGlobals();
  });

  test("the example of docs/browser.md runs", async () => {
    vi.stubEnv("HAPAX_URL", wire.url);
    vi.stubEnv("HAPAX_TOKEN", "ann");
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    await import("../../examples/first.ts");
    expect(log.mock.calls.map((c) => c.join(" ").trim()).slice(-3)).toEqual([
      "online",
      "stored as number 1",
      "1 ann: one box",
    ]);
    log.mockRestore();
    vi.unstubAllEnvs();
  });

  test("docs/browser.md shows that very example", () => {
    const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");
    expect(read("../../../../docs/browser.md")).toContain(`\`\`\`ts\n${read("../../examples/first.ts")}\`\`\``);
  });
});
