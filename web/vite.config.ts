import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import subsetFont from 'subset-font';
import { defineConfig } from 'vitest/config';
import type { Plugin } from 'vite';

// While one works on the page, `npm run dev` serves it and asks a server that runs; that answers only to its own name,
// and only to its own pages.
const target = 'http://127.0.0.1:7420';
const proxy = { target, changeOrigin: true, headers: { origin: target } };

/** The characters of Inter that the page ships: Latin letters and common signs. Others come from the fonts of the system. */
const RANGES = [[0x20, 0x7e], [0xa0, 0xff], [0x131, 0x131], [0x152, 0x153], [0x2013, 0x2014], [0x2018, 0x201e], [0x2022, 0x2022], [0x2026, 0x2026], [0x20ac, 0x20ac], [0x2122, 0x2122], [0x2190, 0x2193], [0x2212, 0x2212]] as const;

/** Writes `generated/inter.woff2`: Inter with these characters and the weights that the page uses, half as large. */
const font: Plugin = {
  name: 'font',
  async buildStart() {
    const whole = readFileSync('node_modules/@fontsource-variable/inter/files/inter-latin-wght-normal.woff2');
    const characters = RANGES.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, at) => String.fromCodePoint(first + at))).join('');
    // The types of the package do not have `keepFeatures` yet.
    const options: Parameters<typeof subsetFont>[2] & { keepFeatures: string[] } = { targetFormat: 'woff2', keepFeatures: ['kern', 'calt', 'ccmp', 'locl', 'tnum', 'cv05', 'ss03'], variationAxes: { wght: { min: 400, max: 700, default: 400 } } };
    const small = await subsetFont(whole, characters, options);
    mkdirSync('generated', { recursive: true });
    writeFileSync('generated/inter.woff2', small);
  },
};

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

/** Svelte, and the parts that most views share. */
const BASE = /node_modules\/(svelte|esm-env|clsx)\/|lucide\/svelte\/dist\/(Icon|defaultAttributes|context|utils)|src\/lib\/(api|attention|complete|dedupe|files|focus|format|key|modal|now|options|order|router|sessions|settings|storage|visible)\b|src\/parts\/(Copy|Notice|Shown|Stored|Words)\.svelte/;

// The page is served under a policy that allows no inline script and no data addresses for scripts, so
// nothing is inlined here.
export default defineConfig({
  plugins: [svelte(), font, compressed, licenses],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // What every view needs is one file. In a file each, small parts cost more requests and compress less.
    rollupOptions: { output: { codeSplitting: { groups: [{ name: 'base', test: BASE }] } } },
  },
  server: { proxy: { '/api': proxy, '/login': proxy } },
  test: { environment: 'jsdom', include: ['src/**/*.test.ts'], testTimeout: 60_000 },
});
