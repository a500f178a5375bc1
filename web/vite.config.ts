import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';
import type { Plugin } from 'vite';

// While one works on the page, `npm run dev` serves it and asks a server that runs; that answers only to its own name,
// and only to its own pages.
const target = 'http://127.0.0.1:7420';
const proxy = { target, changeOrigin: true, headers: { origin: target } };

/** Writes a compressed copy beside each text file. The server sends it to browsers that accept Brotli. */
const compressed: Plugin = {
  name: 'compressed',
  apply: 'build',
  writeBundle({ dir = 'dist' }, bundle) {
    for (const name of Object.keys(bundle).filter((name) => /\.(js|css|html)$/.test(name))) {
      writeFileSync(join(dir, `${name}.br`), brotliCompressSync(readFileSync(join(dir, name))));
    }
  },
};

// The page is served under a policy that allows no inline script and no data addresses for scripts, so
// nothing is inlined here.
export default defineConfig({
  plugins: [svelte(), compressed],
  build: { target: 'es2022', assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: false },
  server: { proxy: { '/api': proxy, '/login': proxy } },
  test: { environment: 'jsdom', include: ['src/**/*.test.ts'], testTimeout: 60_000 },
});
