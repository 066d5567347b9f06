/** Bundles a page's script with the SDK's sources, for tests that need no console. */

import { build, type Rolldown } from "vite";

/** Bundles the file of `pages` into one module. */
export async function bundle(name: string): Promise<string> {
  const entry = new URL(`../pages/${name}.ts`, import.meta.url).pathname;
  const built = (await build({
    configFile: false,
    logLevel: "error",
    resolve: { conditions: ["source", "browser", "module", "import", "default"] },
    build: { write: false, minify: false, target: "es2022", lib: { entry, formats: ["es"], fileName: name } },
  })) as Rolldown.RolldownOutput[];
  return built[0]!.output[0].code;
}

/** A page that runs the script under a path. */
export const pageOf = (script: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>test</title><script type="module" src="${script}"></script></html>`;
