import type { Client } from "@hapax/client";
import { complain } from "../core/hapax.ts";

/** Saves every row of the outbox with what it says as a file: a JSON object a line. */
export async function exportOutbox(client: Client): Promise<void> {
  try {
    const lines: string[] = [];
    for await (const [row, body] of client.export()) lines.push(JSON.stringify({ ...row, ...body }));
    save(`hapax-outbox-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}.jsonl`, lines);
  } catch (e) {
    complain(e);
  }
}

function save(name: string, lines: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([lines.map((l) => `${l}\n`).join("")], { type: "application/jsonl" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads the blob after the click has been handled.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
