import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
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

/** Writes the licenses of all packages that are part of the page to `licenses.txt`. */
const licenses: Plugin = {
  name: 'licenses',
  apply: 'build',
  writeBundle({ dir = 'dist' }) {
    const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
    const bundled = [...Object.keys(dependencies), ...Object.keys(devDependencies).filter((name) => name === 'svelte')];
    const texts = bundled.map((name) => {
      const folder = join('node_modules', name);
      const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
      const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      return `${name} ${version} (${license})\n\n${file ? readFileSync(join(folder, file), 'utf8').trim() : ''}\n`;
    });
    writeFileSync(join(dir, 'licenses.txt'), texts.join(`\n${'-'.repeat(80)}\n\n`));
  },
};

// The page is served under a policy that allows no inline script and no data addresses for scripts, so
// nothing is inlined here.
export default defineConfig({
  plugins: [svelte(), compressed, licenses],
  build: { target: 'es2022', assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: false },
  server: { proxy: { '/api': proxy, '/login': proxy } },
  test: { environment: 'jsdom', include: ['src/**/*.test.ts'], testTimeout: 60_000 },
});
