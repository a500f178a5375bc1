// Every tool, resource, and prompt of a server that others wrote, from the page.

import assert from 'node:assert/strict';
import { accessible, begin, browse, home } from './browse.mjs';

const { tools, resources, prompts } = JSON.parse(process.argv[3]);

const INPUTS = {
  echo: { message: 'hello' },
  'get-sum': { a: 2, b: 3 },
  'get-annotated-message': { messageType: 'error', includeImage: true },
  'get-resource-links': { count: 2 },
  'get-resource-reference': { resourceType: 'Text', resourceId: 1 },
  'get-structured-content': { location: 'New York' },
  'gzip-file-as-resource': { name: 'a.gz', data: 'data:text/plain,hello', outputType: 'resource' },
  'trigger-long-running-operation': { duration: 1, steps: 2 },
  'simulate-research-query': { topic: 'tides' },
  'trigger-url-elicitation': { url: 'https://example.org/sign-in' },
};
const VALUES = { resourceType: 'Text', resourceId: '1', department: 'Engineering', name: 'Alice' };

await browse(async ({ page }) => {
  const log = page.getByRole('log');
  for (const tool of tools) {
    await begin(page, `Call ${tool} ${JSON.stringify(INPUTS[tool] ?? {})} END`);
    const asked = page.getByRole('region', { name: `Call everything: ${tool}?` });
    await asked.getByRole('button', { name: /^Allow this time/ }).click();
    const question = page.getByRole('region', { name: 'The MCP server everything asks for input' });
    const done = log.getByText('The tool has answered.');
    await question.or(done).first().waitFor();
    if (await question.isVisible()) {
      if (tool === 'trigger-elicitation-request') {
        await question.getByRole('group', { name: /Your full, legal name/ }).getByRole('textbox').fill('Ada');
        await accessible(page, 'a form of a server', { widths: false });
      }
      // Who sends a form has seen all of it.
      await question.getByRole('group', { name: 'The proposed change' }).evaluate((node) => node.scrollTo(0, node.scrollHeight));
      await question.getByRole('button', { name: /^(Send to everything|Done)/ }).click();
    }
    await done.waitFor();
    console.log(`${tool}: ok`);
  }

  assert.ok(resources.length > 2);
  for (const { uri } of resources) {
    const named = `@everything:${uri.replace('{resourceId}', '1')}`;
    await begin(page, `Read ${named} please`);
    await log.getByText('Read.', { exact: true }).waitFor();
    console.log(`${named}: ok`);
  }

  assert.ok(prompts.length > 2);
  for (const { prompt, arguments: wanted } of prompts) {
    const words = (wanted ?? []).map(({ name }) => `${name}=${VALUES[name] ?? 'Oslo'}`).join(' ');
    // Typed, because a text that is put into the box is never a command.
    await home(page);
    await page.getByLabel('Your message').pressSequentially(`/everything:${prompt} ${words}`);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.waitForURL(/#\/s\//);
    await log.getByText('Read.', { exact: true }).waitFor();
    console.log(`/everything:${prompt}: ok`);
  }
});
