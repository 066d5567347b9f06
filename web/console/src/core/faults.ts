/**
 * A network to be broken by hand, so that anybody can see what becomes of a message then. It stands between the client and its
 * real transport, and does what networks do by themselves: it is gone, or it loses what the server answered.
 */

import { type Connection, type Listener, type Transport, webSocket } from "@hapax/client";
import { signal } from "@preact/signals";

/** No frame goes either way, and no connection opens. */
export const cut = signal(false);
/** Acks get lost on their way here. */
export const losingAcks = signal(false);
/** Acks lost since the page was opened. */
export const lostAcks = signal(0);

const open = new Set<() => void>();

/** Cuts the network, or mends it. */
export function setCut(on: boolean): void {
  cut.value = on;
  if (on) for (const end of [...open]) end();
}

/** The platform's WebSocket behind that network. */
export function breakable(inner: Transport = webSocket()): Transport {
  return (url, on) => (cut.peek() ? unreachable(on) : reachable(inner, url, on));
}

function unreachable(on: Listener): Connection {
  let over = false;
  const end = () => {
    if (over) return;
    over = true;
    on.closed(new Error("the network is cut, by the switch on this page"));
  };
  setTimeout(end); // as every network, it fails a little later
  return { send() {}, close: end };
}

function reachable(inner: Transport, url: string, on: Listener): Connection {
  let over = false;
  const closed = (error?: unknown) => {
    if (over) return;
    over = true;
    open.delete(end);
    on.closed(error);
  };
  const connection = inner(url, {
    opened: () => {
      if (!over) on.opened();
    },
    frame: (text) => {
      if (over) return;
      if (losingAcks.peek() && typeOf(text) === "ack") lostAcks.value++;
      else on.frame(text);
    },
    closed,
  });
  const end = () => {
    closed(new Error("the network was cut, by the switch on this page"));
    connection.close();
  };
  open.add(end);
  return { send: (frame) => connection.send(frame), close: () => connection.close() };
}

function typeOf(frame: string): unknown {
  try {
    return (JSON.parse(frame) as { type?: unknown }).type;
  } catch {
    return undefined;
  }
}
