/**
 * Relay: the wire between browser and server. Pages are loaded and sockets opened through it, so a test sees each frame
 * that really left, can hold or drop answers, cut connections, and serve pages of its own from the server's origin.
 */

import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";
import { atEnd, end } from "./tidy.ts";

/** A frame on the wire. */
export interface Frame {
  /** Number of the connection, from 1. */
  readonly connection: number;
  readonly from: "browser" | "server";
  /** The frame, parsed. */
  readonly data: { readonly type?: string; readonly [member: string]: unknown };
}

export class Relay {
  /** Every frame so far, in order. */
  readonly frames: Frame[] = [];
  /** Frames for which this answers false are swallowed. One that it holds holds those behind it from the same side. */
  pass: (frame: Frame) => boolean | Promise<boolean> = () => true;
  /** What goes on in a frame's place. */
  rewrite: ((frame: Frame) => unknown) | undefined;
  #target: () => string;
  readonly #pages = new Map<string, { type: string; body: string }>();
  readonly #http = createServer((req, res) => this.#serve(req, res));
  readonly #sockets = new WebSocketServer({ noServer: true, handleProtocols: (p) => [...p][0] ?? false });
  readonly #open = new Set<WebSocket>();
  readonly #browsers = new Set<WebSocket>();
  readonly #tcp = new Set<Socket>();
  #listeners: (() => void)[] = [];
  #connections = 0;
  #cut = false;

  /** target is asked for the server's host:port with each connection. */
  constructor(target: () => string) {
    this.#target = target;
    this.#http.on("upgrade", (req, socket, head) => this.#upgrade(req, socket, head));
    this.#http.on("connection", (s: Socket) => {
      this.#tcp.add(s);
      s.once("close", () => this.#tcp.delete(s));
    });
  }

  async listen(): Promise<void> {
    atEnd(this, async () => this.#end());
    this.#http.listen(0, "127.0.0.1");
    await once(this.#http, "listening");
  }

  /** http://host:port of the relay. */
  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  /** Serves a text of a type under a path; all other paths are the server's. */
  serve(path: string, type: string, body: string): void {
    this.#pages.set(path, { type, body });
  }

  /** Leads new connections to another server. */
  turnTo(target: () => string): void {
    this.#target = target;
  }

  /** Cuts every socket, and refuses new ones until `mend`. */
  cut(): void {
    this.#cut = true;
    for (const s of this.#open) s.terminate();
  }

  mend(): void {
    this.#cut = false;
  }

  /** Sends a frame of its own to every open page. */
  tell(data: unknown): void {
    for (const s of this.#browsers) s.send(JSON.stringify(data));
  }

  /** Frames of a type from one side. */
  of(from: Frame["from"], type: string): Frame[] {
    return this.frames.filter((f) => f.from === from && f.data.type === type);
  }

  /** How often each client message id was sent to the server. */
  sends(): Map<string, number> {
    const n = new Map<string, number>();
    for (const f of this.of("browser", "send")) {
      const id = String(f.data.clientMessageId);
      n.set(id, (n.get(id) ?? 0) + 1);
    }
    return n;
  }

  /** Resolves once the condition holds; it is asked after each frame. The test's own time-out bounds it. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#listeners.push(resolve));
  }

  close(): Promise<void> {
    return end(this);
  }

  #end(): void {
    this.cut();
    this.#http.close();
    for (const s of this.#tcp) s.destroy();
  }

  #serve(req: IncomingMessage, res: ServerResponse): void {
    const page = this.#pages.get(req.url ?? "");
    if (page) {
      res.writeHead(200, { "content-type": page.type }).end(page.body);
      return;
    }
    const [host, port] = this.#target().split(":");
    const out = httpRequest({ host, port, path: req.url, method: req.method, headers: req.headers }, (answer) => {
      res.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(res);
    });
    out.on("error", () => res.destroy());
    req.pipe(out);
  }

  #upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (this.#cut) {
      socket.destroy();
      return;
    }
    // The page's origin is the relay; Host says so too, so that the server takes them for one.
    const headers = { host: req.headers.host!, origin: req.headers.origin!, cookie: req.headers.cookie ?? "" };
    const protocols = req.headers["sec-websocket-protocol"]?.split(/ *, */) ?? [];
    const server = new WebSocket(`ws://${this.#target()}${req.url}`, protocols, { headers, perMessageDeflate: false });
    server.once("error", () => socket.destroy());
    server.once("unexpected-response", (_, answer) => socket.end(`HTTP/1.1 ${answer.statusCode} refused\r\n\r\n`));
    server.once("open", () => {
      this.#sockets.handleUpgrade(req, socket, head, (browser) => this.#join(browser, server));
    });
  }

  #join(browser: WebSocket, server: WebSocket): void {
    const connection = ++this.#connections;
    this.#browsers.add(browser);
    browser.once("close", () => this.#browsers.delete(browser));
    const carry = (from: Frame["from"], a: WebSocket, b: WebSocket) => {
      this.#open.add(a);
      let before = Promise.resolve();
      a.on("message", (raw, binary) => {
        const frame: Frame = { connection, from, data: JSON.parse(raw.toString()) };
        this.frames.push(frame);
        const passes = this.pass(frame);
        before = before.then(async () => {
          if (!(await passes) || b.readyState !== WebSocket.OPEN) return;
          b.send(this.rewrite ? JSON.stringify(this.rewrite(frame)) : raw, { binary });
        });
        for (const listener of this.#listeners.splice(0)) listener();
      });
      a.once("close", (code, reason) => {
        this.#open.delete(a);
        if (code === 1005 || code === 1006 || code === 1015) b.terminate();
        else b.close(code, reason);
      });
      a.on("error", () => b.terminate());
    };
    carry("browser", browser, server);
    carry("server", server, browser);
  }
}
