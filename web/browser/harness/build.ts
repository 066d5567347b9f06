/** Builds the server once for all tests, as `go build` does, into a folder that is removed when they are done. */

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** The path of the built `hapax`. */
    hapax: string;
  }
}

/** The repository. */
export const root = fileURLToPath(new URL("../../..", import.meta.url));

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "hapax-browser-"));
  const program = join(folder, "hapax");
  await promisify(execFile)("go", ["build", "-o", program, "./cmd/hapax"], { cwd: root });
  project.provide("hapax", program);
  return () => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
