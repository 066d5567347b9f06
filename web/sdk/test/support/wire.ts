/** The small server behind real WebSockets on the loopback address. */

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { Server } from "./server.ts";

/** Wire is a listening server. */
export class Wire {
  readonly sockets = new Set<WebSocket>();
  readonly #wss: WebSocketServer;
  readonly server: Server;

  constructor(wss: WebSocketServer) {
    this.#wss = wss;
    const after = (ms: number, f: () => void): (() => void) => {
      const timer = setTimeout(f, ms);
      return () => clearTimeout(timer);
    };
    const time = {
      get unix() {
        return Date.now();
      },
      after,
    };
    this.server = new Server(() => 1, time);
    wss.on("connection", (ws) => this.#carry(ws));
  }

  /** Listens on a free port; speaks the given subprotocol. */
  static async listen(protocol = "hapax.v1"): Promise<Wire> {
    const wss = new WebSocketServer({ port: 0, host: "127.0.0.1", handleProtocols: () => protocol });
    await once(wss, "listening");
    return new Wire(wss);
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#wss.address() as AddressInfo).port}/v1/ws`;
  }

  #carry(ws: WebSocket): void {
    this.sockets.add(ws);
    const waiting: string[] = [];
    let open = false;
    const end = this.server.transport("", {
      opened() {
        open = true;
        for (const text of waiting) end.send(text);
      },
      frame: (text) => ws.send(text),
      closed: () => ws.close(),
    });
    ws.on("message", (data) => (open ? end.send(String(data)) : waiting.push(String(data))));
    ws.on("close", () => {
      this.sockets.delete(ws);
      end.close();
    });
  }

  async close(): Promise<void> {
    for (const ws of this.sockets) ws.terminate();
    this.#wss.close();
    await once(this.#wss, "close");
  }
}
