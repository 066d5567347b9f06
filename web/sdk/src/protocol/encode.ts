import type { Command } from "./frames.ts";

/**
 * The frame of a command. `data` of a send is given beside it: canonical JSON, empty where there is none. It judges nothing.
 */
export function encodeCommand(c: Command, data = ""): string {
  const frame = JSON.stringify(c);
  return data === "" ? frame : `${frame.slice(0, -1)},"data":${data}}`;
}
