import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

// The page is served under a policy that allows no inline script and no data addresses for scripts, so
// nothing is inlined here.
export default defineConfig({
  plugins: [svelte()],
  build: { target: 'es2022', assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: false },
  server: { proxy: { '/api': 'http://127.0.0.1:7420', '/login': 'http://127.0.0.1:7420' } },
  test: { environment: 'jsdom', include: ['src/**/*.test.ts'], testTimeout: 60_000 },
});
