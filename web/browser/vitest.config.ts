import { defineConfig } from "vitest/config";

// Real browsers and servers: one file after the other, as they share the machine. No wait is part of a verdict: each is for a
// condition, and its end is far beyond what a slow machine beside two busy loops needs.
export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    environment: "node",
    globalSetup: ["harness/build.ts"],
    setupFiles: ["harness/setup.ts"],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
  },
});
