// Runs test/cases/host.ts under Node 20, which reads no TypeScript: bundled first, into a folder of its own.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "vite";

const outDir = mkdtempSync(join(tmpdir(), "hapax-host-"));
process.on("exit", () => rmSync(outDir, { recursive: true, force: true }));
await build({
  root: fileURLToPath(new URL("..", import.meta.url)),
  configFile: false,
  logLevel: "silent",
  ssr: { noExternal: true },
  build: {
    ssr: "test/cases/host.ts",
    outDir,
    target: "node20",
    rolldownOptions: { output: { entryFileNames: "host.mjs" } },
  },
});
await import(pathToFileURL(join(outDir, "host.mjs")).href);
