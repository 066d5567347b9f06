import { defineConfig } from "vitest/config";

// The page is built into the Go package that serves it. Names hold a hash of the content, so that a browser may keep a
// file for ever; nothing is inlined, since the page's policy allows no code, style or image in the markup.
const conditions = ["source", "module", "browser", "import", "default"];

export default defineConfig({
  base: "/",
  resolve: { conditions },
  ssr: { resolve: { conditions } }, // tests run in Node
  build: {
    outDir: "../../internal/console/dist",
    emptyOutDir: true,
    target: "es2022",
    cssTarget: ["chrome123", "firefox121", "safari17.5"],
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
  },
  test: { include: ["test/**/*.test.ts"], environment: "node", testTimeout: 300_000 },
});
