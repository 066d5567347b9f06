// Makes the declarations readable for older compilers: they name one another as the JavaScript that they describe, not as sources.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const dist = fileURLToPath(new URL("../dist/", import.meta.url));
for (const name of readdirSync(dist, { recursive: true })) {
  if (!name.endsWith(".d.ts")) continue;
  const text = readFileSync(dist + name, "utf8");
  writeFileSync(dist + name, text.replace(/((?:from|import\()\s*"\.[^"]*)\.ts"/g, '$1.js"'));
}
