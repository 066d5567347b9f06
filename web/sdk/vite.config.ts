import { defineConfig } from "vitest/config";

// The library is one ES module; what it depends on stays outside, for the app's own bundler to share.
export default defineConfig({
  build: {
    lib: { entry: { index: "src/index.ts" }, formats: ["es"] },
    target: "es2022",
    minify: false,
    sourcemap: true,
    rolldownOptions: { external: [/^@noble\//] },
  },
  resolve: { conditions: ["source"] },
  ssr: { resolve: { conditions: ["source"] } },
  test: {
    include: ["test/**/*.test.ts"],
    environment: "node",
    setupFiles: ["test/support/seed.ts"],
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
