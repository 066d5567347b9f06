// Fails where the SDK, minified and gzipped without its dependencies, has grown past its bound.
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";

// All that the module exports, stores and tabs too. An app that shakes off what it doesn't use loads less.
const BOUND = 32 * 1024;

const built = await build({
  root: fileURLToPath(new URL("..", import.meta.url)),
  logLevel: "silent",
  build: { write: false, sourcemap: false, rolldownOptions: { output: { minify: true } } },
});
const chunks = [built].flat().flatMap((b) => b.output.filter((o) => o.type === "chunk"));
const bytes = chunks.reduce((n, c) => n + gzipSync(c.code, { level: 9 }).length, 0);
console.log(`@hapax/client: ${bytes} bytes gzipped of ${BOUND}`);
if (bytes > BOUND) process.exit(1);
