// Fails where the SDK, minified and gzipped without its dependencies, has grown past its bound.
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";

const BOUND = 15 * 1024;

const built = await build({
  root: fileURLToPath(new URL("..", import.meta.url)),
  logLevel: "silent",
  build: { write: false, minify: true, sourcemap: false },
});
const chunks = [built].flat().flatMap((b) => b.output.filter((o) => o.type === "chunk"));
const bytes = chunks.reduce((n, c) => n + gzipSync(c.code, { level: 9 }).length, 0);
console.log(`@hapax/client: ${bytes} bytes gzipped of ${BOUND}`);
if (bytes > BOUND) process.exit(1);
