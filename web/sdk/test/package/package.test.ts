/** What `npm pack` makes is what an app gets: code, types for old compilers without the DOM's library, a guide and the licence. */

import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const modules = at("../../../node_modules/");
const run = promisify(execFile);

let app: string;
let files: string[];

/** Packs a copy, so that nothing is built under others' hands, and installs it into an app of its own. */
beforeAll(async () => {
  app = await mkdtemp(join(tmpdir(), "hapax-package-"));
  const copy = join(app, "clone/web/sdk");
  await cp(at("../.."), copy, { recursive: true, filter: (from) => !/[/\\](dist|node_modules|LICENSE)$/.test(from) });
  for (const beside of ["../../../../LICENSE", "../../../tsconfig.base.json"]) {
    await cp(at(beside), join(copy, beside.replace("../../", "")));
  }
  await symlink(modules, join(app, "clone/web/node_modules"));
  const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", app], { cwd: copy });
  const [packed] = JSON.parse(stdout.slice(stdout.indexOf("["))) as { filename: string; files: { path: string }[] }[];
  files = packed!.files.map((f) => f.path);
  const to = join(app, "node_modules/@hapax/client");
  await mkdir(to, { recursive: true });
  await run("tar", ["-xzf", join(app, packed!.filename), "-C", to, "--strip-components", "1"]);
  await symlink(join(modules, "@noble"), join(app, "node_modules/@noble"));
  await writeFile(join(app, "package.json"), '{"type": "module"}');
});

afterAll(() => rm(app, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

it("has code, types, a guide and the licence, and no tests", async () => {
  expect(files).toEqual(
    expect.arrayContaining([
      "LICENSE",
      "README.md",
      "dist/index.d.ts",
      "dist/index.js",
      "package.json",
      "src/index.ts",
    ]),
  );
  expect(files.filter((f) => !/^(dist|src)\/|^(LICENSE|README\.md|package\.json)$/.test(f))).toEqual([]);
  const licence = await readFile(join(app, "node_modules/@hapax/client/LICENSE"), "utf8");
  expect(licence).toBe(await readFile(at("../../../../LICENSE"), "utf8"));
});

it("runs as it is packed", async () => {
  await writeFile(
    join(app, "run.js"),
    `import { open, openMemoryStore } from "@hapax/client";
     const client = await open({ url: "ws://h/v1/ws", token: "t", store: await openMemoryStore(), offline: true });
     await client.send("r", client.nextMessageId(), { text: "one box" });
     for await (const { text } of client.outbox({ bodies: true })) console.log(text);
     await client.close();`,
  );
  expect((await run(process.execPath, ["run.js"], { cwd: app })).stdout).toBe("one box\n");
});

const program = `import { deleteBrowserStore, open, openBrowserStore, storeKey, type ClientEvent, type Row, type Signal } from "@hapax/client";
export async function talk(signal: Signal, hear: (e: ClientEvent) => void): Promise<string[]> {
  const { store, lost } = await openBrowserStore({ actor: "ann", key: await storeKey("app") });
  const client = await open({ url: "wss://h/v1/ws", token: async () => "t", store });
  client.listen(hear);
  const id: string = client.nextMessageId();
  await client.send("r", id, { text: "one box", data: { boxes: 1 } });
  const { seq } = await client.waitAck("r", id, { signal });
  const texts: string[] = [String(seq), String(lost)];
  for await (const m of client.follow("r", 0, { signal })) texts.push(m.text);
  for await (const row of client.outbox({ bodies: true })) texts.push(row.text, row.state);
  for await (const row of client.outbox()) { const plain: Row = row; texts.push(plain.id); }
  await client.close();
  await deleteBrowserStore({ actor: "ann" });
  return texts;
}
// @ts-expect-error a number is no text: the types are there
export const wrong: Promise<void> = open({ url: 1 });
`;

it.each([
  ["the oldest compiler", "typescript-oldest", "bundler"],
  ["the oldest compiler", "typescript-oldest", "node16"],
  ["the newest compiler", "typescript", "nodenext"],
])("has types that stand alone, for %s (%s, %s)", async (_, compiler, resolution) => {
  await writeFile(join(app, "program.ts"), program);
  const module = resolution === "bundler" ? "esnext" : resolution;
  const compilerOptions = { noEmit: true, strict: true, exactOptionalPropertyTypes: true, target: "es2022" };
  const options = { ...compilerOptions, lib: ["es2022"], types: [], module, moduleResolution: resolution };
  await writeFile(join(app, "tsconfig.json"), JSON.stringify({ compilerOptions: options, files: ["program.ts"] }));
  const tsc = join(modules, compiler, "bin/tsc");
  const told = await run(process.execPath, [tsc, "-p", "tsconfig.json"], { cwd: app }).then(
    () => "",
    (e: { stdout: string }) => e.stdout,
  );
  expect(told).toBe("");
});
