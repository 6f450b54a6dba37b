import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react()],
  server: {
    proxy: { "/api": "http://127.0.0.1:7333" },
    // The words that the page shares with the terminal lie in the package.
    fs: { allow: [".."] },
  },
  build: {
    outDir: "../src/shipmate/server/page",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      onwarn(warning, warn) {
        // zod mentions `@__PURE__` inside prose comments; the bundler reports each, and nothing is lost.
        if (warning.code !== "INVALID_ANNOTATION") warn(warning);
      },
      output: {
        manualChunks(id) {
          return /node_modules\/(react|react-dom|scheduler)\//.test(id) ? "react" : undefined;
        },
      },
    },
  },
});
