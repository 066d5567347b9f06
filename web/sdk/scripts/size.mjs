// Measures the SDK, minified and gzipped without its dependencies, and fails where it has grown past its bound (ADR 12).
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";

/** What an app loads that uses these names and nothing else, and the most that it may be, in bytes. */
const apps = [
  ["all that it exports", "*", 40 * 1024],
  ["open, in IndexedDB", "open, openBrowserStore", 37 * 1024],
  ["open, in memory", "open, openMemoryStore", 34 * 1024],
  ["open, with a store of one's own", "open", 25 * 1024],
];

const root = fileURLToPath(new URL("..", import.meta.url));

/** Bundles an app of these names. */
async function bytesOf(names) {
  const entry = "\0app";
  const from = JSON.stringify(`${root}src/index.ts`);
  const app = {
    name: "app",
    resolveId: (id) => (/(^|\/)app$/.test(id) ? entry : null),
    load: (id) => (id === entry ? `export ${names === "*" ? "*" : `{ ${names} }`} from ${from};` : null),
  };
  const built = await build({
    root,
    configFile: false,
    logLevel: "silent",
    plugins: [app],
    build: {
      write: false,
      sourcemap: false,
      lib: { entry: { app: "app" }, formats: ["es"] },
      rolldownOptions: { external: [/^@noble\//], output: { minify: true } },
    },
  });
  const chunks = [built].flat().flatMap((b) => b.output.filter((o) => o.type === "chunk"));
  return chunks.reduce((n, c) => n + gzipSync(c.code, { level: 9 }).length, 0);
}

let over = false;
for (const [what, names, bound] of apps) {
  const bytes = await bytesOf(names);
  over ||= bytes > bound;
  console.log(`${what}: ${bytes} bytes gzipped of ${bound}`);
}
if (over) process.exit(1);
