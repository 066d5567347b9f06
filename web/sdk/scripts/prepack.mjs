// Builds what `npm pack` packs, in a clean clone too, and lays the licence beside it.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const npm = (cwd, ...words) => execFileSync("npm", words, { cwd: at(cwd), stdio: ["ignore", "ignore", "inherit"] });

if (!existsSync(at("../../node_modules/.package-lock.json")))
  npm("../..", "ci", "--ignore-scripts", "--no-fund", "--no-audit");
rmSync(at("../dist"), { recursive: true, force: true });
npm("..", "run", "build");
copyFileSync(at("../../../LICENSE"), at("../LICENSE"));
