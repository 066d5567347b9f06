import { subprotocol } from "../protocol/frames.ts";
import type { Transport } from "./transport.ts";

/** The part of a WebSocket that is used: the browser's own, or one of the package `ws` under Node 20. */
export interface WebSocketLike {
  readonly protocol: string;
  onopen: ((e: never) => void) | null;
  onmessage: ((e: never) => void) | null;
  onerror: ((e: never) => void) | null;
  onclose: ((e: never) => void) | null;
  send(data: string): void;
  close(code?: number, reason?: string): void;
  /** Ends at once, without a closing handshake; the package `ws` has it. */
  terminate?(): void;
}

/** A WebSocket's constructor. */
export type WebSocketConstructor = new (url: string, protocols: string) => WebSocketLike;

/** What may be wrong with an address that never answered as a server does. */
function doubt(url: string): string {
  const path = /^wss?:\/\/[^/?#]*([^?#]*)/.exec(url)?.[1] ?? "";
  return path.endsWith("/v1/ws")
    ? "the server isn't there, can't be reached, or refuses the page's origin"
    : `its path is ${path || "/"}, where a server of Hapax answers at /v1/ws`;
}

/** Closed from this end, by the app's or the client's own wish. */
const goingAway = 4000;

/**
 * Frames over WebSocket with the subprotocol `hapax.v1`.
 *
 * @param make the constructor; the browser's own if left out
 */
export function webSocket(make?: WebSocketConstructor): Transport {
  return (url, on) => {
    const Socket = make ?? (globalThis.WebSocket as unknown as WebSocketConstructor | undefined);
    if (!Socket) throw new TypeError("no WebSocket here: give Options.webSocket one, as of the package ws");
    const ws = new Socket(url, subprotocol);
    let over = false;
    let opened = false;
    let said = "";
    const end = (error?: unknown): void => {
      if (over) return;
      over = true;
      on.closed(error);
    };
    const close = (): void => {
      if (ws.terminate) ws.terminate();
      else ws.close(goingAway);
    };
    ws.onopen = () => {
      if (over) return close();
      opened = true;
      if (ws.protocol === subprotocol) return on.opened();
      end(new Error(`the server doesn't speak ${subprotocol}`));
      close();
    };
    ws.onmessage = (e: { data: unknown }) => {
      if (over) return;
      // A binary message, where frames are text, can be none of version 1.
      on.frame(typeof e.data === "string" ? e.data : "");
    };
    // A close follows. Browsers say nothing here, so that no page learns what stands in other networks; others say why.
    ws.onerror = (e: { readonly message?: unknown }) => {
      if (typeof e.message === "string") said = e.message;
    };
    ws.onclose = ({ code, reason }: { code: number; reason: string }) => {
      if (opened) return end(new Error(`the connection ended (${code}${reason && ` ${reason}`})`));
      end(new Error(`the connection ended before it opened (${said || code}): ${doubt(url)}`));
    };
    return {
      send: (frame) => ws.send(frame),
      close() {
        // Told at once: the closing handshake of a dead network may take a minute.
        close();
        end();
      },
    };
  };
}
