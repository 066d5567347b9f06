/** The gateway's books as the console shows them, against what was delivered. */

import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Chromium } from "../harness/chromium.ts";
import { Console } from "../harness/console.ts";
import { Server } from "../harness/server.ts";
import { remove } from "../harness/tidy.ts";

let folder: string;
let chromium: Chromium;
let server: Server;
let page: Console;

// The destination's address is none that may be dialled, so that what is accepted becomes a dead letter at once.
const configuration = (secret: string) => `
gateway:
  policy: {block_window: 1h, scope_strict: false, lru_min_hits: 2}
  tenants:
    acme:
      sources:
        shop:
          verify: {scheme: none}
          key: {pointer: /id}
          amount: {pointer: /amount}
          currency: {pointer: /currency}
          registry: open
          lru_capacity: 100
          forward: {url: "http://127.0.0.1:9/hooks", secret_files: ["${secret}"]}
`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "hapax-gateway-"));
  const secret = join(folder, "secret");
  await writeFile(secret, `whsec_${Buffer.alloc(32, 7).toString("base64")}`, { mode: 0o600 });
  await writeFile(join(folder, "hapax.yaml"), configuration(secret));
  server = await Server.start("--config", join(folder, "hapax.yaml"));
  chromium = await Chromium.start();
  page = await Console.open(chromium, server);
});
afterAll(async () => {
  await page?.close();
  await chromium?.close();
  await server?.close();
  await remove(folder);
});

async function deliver(id: string, amount: string, currency: string): Promise<number> {
  const answer = await fetch(`http://${server.address}/v1/ingest/acme/shop`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id, amount, currency }),
  });
  return answer.status;
}

it("shows totals, what wasn't counted twice, the chain of a key, and replays a dead letter", async () => {
  expect([
    await deliver("a", "1234.50", "EUR"),
    await deliver("a", "1234.50", "EUR"),
    await deliver("a", "1234.50", "EUR"),
  ]).toEqual([202, 200, 200]);
  expect(await deliver("b", "0.10", "EUR")).toBe(202);
  expect(await deliver("c", "5", "USD")).toBe(202);
  expect(await deliver("<b>d</b>", "nothing", "EUR")).toBe(422);
  await page.signIn("keeper");
  await page.panel("Gateway");
  const tiles = page.page.locator(".tile b");
  await expect.poll(() => tiles.allTextContents()).toEqual(["1,234.60", "2,469.00", "5.00", "0.00"]);
  await page.page.getByRole("img", { name: "Decisions: accepted 3, repeats 2, refused 1" }).waitFor();
  await page.page.getByRole("button", { name: "a", exact: true }).click();
  const chain = page.page.locator(".chain li b");
  const judged = ["repeat, still pending", "repeat, still pending", "accepted"];
  await expect.poll(() => chain.allTextContents()).toEqual(judged);
  await page.page.getByText("last full proof").waitFor();
  await page.page.getByRole("heading", { name: "Window" }).waitFor();
  const letter = page.page.getByRole("button", { name: "Replay b" });
  await letter.click();
  await page.page.getByText("b goes out again, under the same id.").waitFor();
  await page.page.getByRole("button", { name: "Discard c" }).click();
  await page.page.getByText("c is given up.").waitFor();
  await page.page.getByRole("button", { name: "Discard c" }).waitFor({ state: "detached" });
  expect(await page.page.locator(".panel th b").count()).toBe(0);
});

it("says where there are no books", async () => {
  const plain = await Server.start();
  const other = await Console.open(chromium, plain);
  try {
    await other.signIn("keeper");
    await other.panel("Gateway");
    await other.page.getByText("keeps no gateway's books").waitFor();
  } finally {
    await other.close();
    await plain.close();
  }
});
