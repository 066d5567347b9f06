import { defineConfig } from "vitest/config";

// Real browsers and servers: one file after the other, as they share the machine, and no test longer than a minute or two.
export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    environment: "node",
    globalSetup: ["harness/build.ts"],
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
