import { defineConfig } from "vitest/config";

// Figures, not verdicts: they depend on the machine. `npm run speed --workspace browser` prints them.
export default defineConfig({
  test: {
    include: ["speed/**/*.speed.ts"],
    environment: "node",
    globalSetup: ["harness/build.ts"],
    setupFiles: ["harness/setup.ts"],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
});
