// Fails where the committed page is not what its sources build, or has grown past its bound. Run after `npm run build` has
// been committed.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";

const BOUND = 120 * 1024;
const root = fileURLToPath(new URL("..", import.meta.url));
const dist = fileURLToPath(new URL("../../../internal/console/dist/", import.meta.url));

const built = await build({ root, logLevel: "silent", build: { write: false } });
const fresh = new Map(
  [built].flat().flatMap((b) => b.output.map((o) => [o.fileName, Buffer.from(o.code ?? o.source)])),
);
const kept = new Map(
  readdirSync(dist, { recursive: true, withFileTypes: true })
    .filter((e) => e.isFile())
    .map((e) => `${e.parentPath}/${e.name}`)
    .map((path) => [path.slice(dist.length).replace(/^\//, ""), readFileSync(path)]),
);

const faults = [];
for (const [name, bytes] of fresh) {
  if (!kept.has(name)) faults.push(`${name} is not committed`);
  else if (!kept.get(name).equals(bytes)) faults.push(`${name} differs from a fresh build`);
}
for (const name of kept.keys()) if (!fresh.has(name)) faults.push(`${name} is committed, but no build makes it`);

const size = [...fresh.values()].reduce((n, bytes) => n + gzipSync(bytes, { level: 9 }).length, 0);
if (size > BOUND) faults.push(`${size} bytes gzipped, ${BOUND} at most`);
console.log(`@hapax/console: ${size} bytes gzipped of ${BOUND}, in ${fresh.size} files`);
if (faults.length > 0) {
  console.error(`${faults.join("\n")}\nto build the committed page anew: cd web && npm run build --workspace console`);
  process.exit(1);
}
