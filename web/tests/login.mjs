// A server that needs a login: the page says so, and how to log in.

import { accessible, browse } from './browse.mjs';

await browse(async ({ page }) => {
  await page.goto(new URL('/#/extensions', page.url()).href);
  const listed = page.getByRole('region', { name: 'Extensions' }).getByRole('listitem').filter({ hasText: 'docs' });
  await listed.getByText('Login needed').waitFor();
  await listed.getByText('trimtab mcp login docs').waitFor();
  await accessible(page, 'a server that needs a login');
});
