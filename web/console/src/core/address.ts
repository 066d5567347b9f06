/** Where the page can be: a panel, and in the rooms one of them. It is written into the address behind #. */

export const panels = ["rooms", "outbox", "gateway", "server"] as const;
export type Panel = (typeof panels)[number];

export interface Route {
  readonly panel: Panel;
  /** Of rooms: the room, "" for none. */
  readonly room: string;
}

export function parseRoute(hash: string): Route {
  const [panel, ...rest] = hash.replace(/^#\/?/, "").split("/");
  const known = panels.find((p) => p === panel) ?? "rooms";
  return { panel: known, room: known === "rooms" ? decode(rest.join("/")) : "" };
}

export function linkTo(panel: Panel, room = ""): string {
  return room === "" ? `#/${panel}` : `#/${panel}/${encodeURIComponent(room)}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
