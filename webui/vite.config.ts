import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

// Every browser this page runs in reads woff2; the other forms of KaTeX's fonts would be a megabyte that nobody loads.
const oneFont: Plugin = {
  name: "one-font",
  enforce: "pre",
  transform: (code, id) => (id.includes("katex.min.css") ? code.replace(/,url\([^)]*\) format\("(?:woff|truetype)"\)/g, "") : undefined),
};

export default defineConfig({
  plugins: [react(), oneFont],
  resolve: { alias: [{ find: /^zod\/v[34]$/, replacement: "/src/zod.ts" }] },
  server: {
    proxy: { "/api": "http://127.0.0.1:7333" },
    // The words that the page shares with the terminal lie in the package.
    fs: { allow: [".."] },
  },
  worker: { format: "es" },
  build: {
    outDir: "../src/shipmate/server/page",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      input: ["index.html", "diagram.html"],
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
