// The assistant's panel, as its documents describe it: what is sent, what is shown, and what waits for a person.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { becomes, browse } from './browse.mjs';

/** An answer of the stream, in the documented pieces. */
const pieces = (...sent) => sent.map(([name, data]) => `event: ${name}\ndata: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`).join('');
const stream = (body) => ({ status: 200, contentType: 'text/event-stream', body });
const op = (op, id, more = {}) => ({ op: { op, id, ...more }, errors: [] });

await browse(
  async ({ page, root }) => {
    const asked = [];
    const posted = [];
    const keys = [];
    let answer = () => stream(pieces(['done', 'true']));
    await page.route('**/api/assistant/message/stream**', async (route) => {
      const query = Object.fromEntries(new URL(route.request().url()).searchParams);
      asked.push({ ...query, transcript: JSON.parse(query.transcript), clarify: query.clarify && JSON.parse(query.clarify) });
      await route.fulfill(await answer());
    });
    await page.route('**/api/assistant/message', async (route) => {
      posted.push(route.request().postDataJSON());
      await route.fulfill({ status: 502, json: { error: 'assistant_failure', detail: 'no' } });
    });
    await page.route('**/api/llm/apply', async (route) => {
      posted.push(route.request().postDataJSON());
      keys.push(route.request().headers()['idempotency-key']);
      await route.fulfill({ json: { results: [], summary: { created: 0, updated: 1, deleted: 0, completed: 0 } } });
    });
    await page.goto(`${root}/#/tasks`);
    const input = page.getByLabel('Your message to the assistant');
    const bubbles = page.locator('.bubble');
    const say = async (text) => {
      await input.fill(text);
      await page.getByRole('button', { name: 'Send' }).click();
    };

    // Nothing to say is not sent, and the mode is auto until another one is chosen.
    await input.fill('   ');
    assert.ok(await page.getByRole('button', { name: 'Send' }).isDisabled(), 'blank input sends nothing');
    await input.press('Enter');
    assert.equal(await page.getByRole('button', { name: 'Auto', exact: true }).getAttribute('aria-pressed'), 'true');

    // The box is empty and a bubble waits before anything is answered.
    let open;
    const held = new Promise((resolve) => (open = resolve));
    answer = async () => {
      await held;
      return stream(
        pieces(
          ['summary', { text: 'Planning…' }],
          ['stage', { stage: 'proposing' }],
          ['summary', 'not json'],
          ['ops', { version: 1, operations: [op('update', 1), op('delete', 2), { op: { op: 'update', id: 9 }, errors: ['not_found: there is no task #9'] }], validCount: 2, invalidCount: 1 }],
          ['ops', { version: 2, operations: [op('delete', 2), op('update', 1), op('complete', 3)], validCount: 3, invalidCount: 0 }],
          ['summary', { text: 'Three changes.' }],
          ['result', { text: 'Three changes.', operations: [op('delete', 2), op('update', 1), op('complete', 3)] }],
          ['done', 'true'],
        ),
      );
    };
    await say('Tidy up');
    assert.equal(await input.inputValue(), '', 'the box is emptied at once');
    assert.equal(await bubbles.count(), 2, 'the words, and a bubble for the answer');
    open();
    await page.getByText('Three changes.').waitFor();
    assert.equal(await bubbles.count(), 2, 'the bubble is filled, not another one added');
    assert.equal(asked.length, 1, 'blank input was not sent by the keyboard either');
    assert.deepEqual([asked[0].mode, asked[0].transcript, asked[0].clarify], ['auto', [], undefined]);
    await page.getByText('3 proposed').waitFor();
    const boxes = page.locator('.operations input[type=checkbox]');
    assert.equal(await boxes.count(), 3);
    for (let at = 0; at < 3; at++) assert.ok(await boxes.nth(at).isChecked(), 'what can be applied is chosen');

    // Only what is ticked is applied, and once, however often it is pressed.
    await boxes.nth(0).uncheck();
    await page.getByRole('button', { name: 'Show before and after' }).click();
    await page.getByRole('button', { name: 'Hide before and after' }).click();
    await page.getByRole('button', { name: 'Show before and after' }).waitFor();
    await page.getByRole('button', { name: 'Apply Selected' }).evaluate((button) => {
      button.click();
      button.click();
    });
    await page.getByText('Done: 1 updated.').waitFor();
    assert.equal(keys.length, 1, 'pressed twice, applied once');
    assert.match(keys[0], /^[0-9a-f-]{36}$/);
    assert.deepEqual(posted.pop().operations, [{ op: 'update', id: 1 }, { op: 'complete', id: 3 }]);

    // An operation that cannot be applied is shown with its reason and cannot be chosen.
    answer = () => stream(pieces(['result', { text: 'One.', operations: [op('update', 1), { op: { op: 'delete', id: 9 }, errors: ['not_found: there is no task #9'] }] }], ['done', 'true']));
    await say('And now');
    await page.getByText('2 proposed').waitFor();
    assert.deepEqual([await boxes.nth(0).isChecked(), await boxes.nth(1).isChecked(), await boxes.nth(1).isDisabled()], [true, false, true]);
    await page.getByText('not_found: there is no task #9').waitFor();
    assert.equal(await page.locator('.preview').count(), 0, 'before and after are closed at first');

    // A question replaces the bubble; a chip answers it with what it stands for, and stays to be seen.
    answer = () => stream(pieces(['clarify', { question: 'Which call?', options: [{ id: 1, title: 'Call Bob', scheduledFor: null }, { id: 2, title: 'Call Ann', scheduledFor: '2026-11-16' }] }], ['done', 'true']));
    await say('Move the call');
    await page.getByText('Which call?').waitFor();
    const before = await bubbles.count();
    answer = () => stream(pieces(['summary', { text: 'Ann is moved.' }], ['result', { text: 'Ann is moved.', operations: [] }], ['done', 'true']));
    await page.getByRole('button', { name: /Call Ann/ }).click();
    await page.getByText('Ann is moved.').waitFor();
    assert.equal(await bubbles.count(), before + 2, 'the question stays');
    const chosen = asked.at(-1);
    assert.equal(chosen.clarify.question, 'Which call?');
    assert.deepEqual(chosen.clarify.selection.ids, [2]);
    assert.equal(chosen.transcript.length, 3, 'the last three turns go along');
    assert.ok(await page.locator('.chip.on', { hasText: 'Call Ann' }).count(), 'what was chosen is marked');
    await page.reload();
    await page.getByText('Which call?').waitFor();
    assert.ok(await page.locator('.chip.on', { hasText: 'Call Ann' }).count(), 'also after the page was loaded again');

    // A question may ask for a day too, and waits for its answer also after the page was loaded again.
    answer = () => stream(pieces(['clarify', { question: 'Which, and when?', options: [{ id: 1, title: 'Call Bob', scheduledFor: null }], sections: ['ids', 'date'] }], ['done', 'true']));
    await say('Move a call');
    await page.getByText('Which, and when?').waitFor();
    await page.reload();
    await page.getByText('Which, and when?').waitFor();
    await say('the one with Bob');
    await page.getByText('Which, and when?').nth(1).waitFor();
    assert.equal(asked.at(-1).clarify.question, 'Which, and when?');
    await page.getByRole('button', { name: 'Plan', exact: true }).click();
    await page.locator('.bubble input[type=date]').fill('2026-12-01');
    answer = () => stream(pieces(['result', { text: 'Bob is moved.', operations: [] }], ['done', 'true']));
    await page.getByRole('button', { name: /Call Bob/ }).last().click();
    await page.getByText('Bob is moved.').waitFor();
    assert.deepEqual([asked.at(-1).mode, asked.at(-1).clarify.selection], ['auto', { ids: [1], date: '2026-12-01', priority: null }]);

    // Several tasks answer a question together.
    answer = () => stream(pieces(['clarify', { question: 'Which ones?', options: [1, 2, 3].map((id) => ({ id, title: `Call ${id}`, scheduledFor: null })) }], ['done', 'true']));
    await say('Move the calls');
    await page.getByText('Which ones?').waitFor();
    answer = () => stream(pieces(['result', { text: 'Two are moved.', operations: [] }], ['done', 'true']));
    await page.getByRole('button', { name: 'Choose several' }).click();
    await page.getByRole('button', { name: 'Call 1', exact: true }).click();
    await page.getByRole('button', { name: 'Call 2', exact: true }).click();
    await page.getByRole('button', { name: 'Call 3', exact: true }).click();
    await page.getByRole('button', { name: 'Call 2', exact: true }).click();
    await page.getByRole('button', { name: 'Answer with 2 tasks' }).click();
    await page.getByText('Two are moved.').waitFor();
    assert.deepEqual(asked.at(-1).clarify.selection.ids, [1, 3]);
    assert.match(asked.at(-1).message, /^Call 1 and Call 3/);

    // What touches many tasks is warned about before anything is pressed, and what touches few is not.
    const bulk = (value) => ({ op: { op: 'bulk_update', where: { priority: 'low' }, set: { priority: value } }, errors: [] });
    const tried = [];
    await page.route('**/api/llm/dryrun', async (route) => {
      const { operations } = route.request().postDataJSON();
      tried.push(operations);
      const warnings = operations[0].set.priority === 'high' ? ['51 tasks will be changed.'] : [];
      await route.fulfill({ json: { results: operations.map(() => ({ valid: true, errors: [] })), summary: {}, warnings } });
    });
    const warning = page.locator('.operations').getByRole('alert');
    answer = () => stream(pieces(['result', { text: 'Few.', operations: [bulk('medium')] }], ['done', 'true']));
    await say('Raise a few');
    await page.getByText('1 proposed').waitFor();
    await becomes(() => tried.length, 1, 'it is tried out at once');
    assert.equal(await warning.count(), 0);
    answer = () => stream(pieces(['result', { text: 'Many.', operations: [bulk('high')] }], ['done', 'true']));
    await say('Raise them all');
    await warning.getByText('51 tasks will be changed.').waitFor();
    await page.getByRole('button', { name: 'Discard the proposal' }).click();
    await page.unroute('**/api/llm/dryrun');

    // A newer message takes the place of one that is being answered, and what that was not answered with is no turn.
    let free;
    const first = new Promise((resolve) => (free = resolve));
    answer = async () => {
      await first;
      return stream(pieces(['done', 'true']));
    };
    const sofar = asked.length;
    await say('Slow');
    await becomes(() => asked.length, sofar + 1);
    answer = () => stream(pieces(['result', { text: 'Quick.', operations: [] }], ['done', 'true']));
    await say('Fast');
    await page.getByText('Quick.').waitFor();
    free();
    await becomes(() => page.getByText('A newer message replaced this one.').count(), 1);
    assert.deepEqual(asked.at(-1).transcript.at(-1), { role: 'user', text: 'Slow' });

    // The question is not sent with the turn after its answer; the mode that is chosen is.
    answer = () => stream(pieces(['result', { text: 'Hello.', operations: [] }], ['done', 'true']));
    await page.getByRole('button', { name: 'Chat', exact: true }).click();
    await say('Hi');
    await page.getByText('Hello.').waitFor();
    assert.deepEqual([asked.at(-1).mode, asked.at(-1).clarify], ['chat', undefined]);

    // While the summary is still being written, the list is there and can be chosen from.
    await page.unroute('**/api/assistant/message/stream**');
    let sent;
    const slow = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      sent = (...more) => response.write(pieces(...more));
      sent(['stage', { stage: 'proposing' }]);
    });
    await new Promise((listening) => slow.listen(0, '127.0.0.1', listening));
    await page.route('**/api/assistant/message/stream**', (route) => route.continue({ url: `http://127.0.0.1:${slow.address().port}/` }));
    await say('Take your time');
    await bubbles.last().getByText('Planning…').waitFor();
    sent(['ops', { version: 1, operations: [op('update', 1), op('complete', 2)], validCount: 2, invalidCount: 0 }], ['stage', { stage: 'validating' }]);
    await page.getByText('2 proposed').waitFor();
    await bubbles.last().getByText('Validating…').waitFor();
    await boxes.nth(1).uncheck();
    sent(['stage', { stage: 'summarizing' }], ['summary', { text: 'Two chan' }]);
    await bubbles.last().getByText('Two chan').waitFor();
    await bubbles.last().getByText('Summarizing…').waitFor();
    assert.deepEqual([await boxes.nth(0).isChecked(), await boxes.nth(1).isChecked()], [true, false]);
    sent(['summary', { text: 'Two changes.' }], ['result', { text: 'Two changes.', operations: [op('update', 1), op('complete', 2)] }], ['done', 'true']);
    await bubbles.last().getByText('Two changes.', { exact: true }).waitFor();
    await becomes(() => bubbles.last().innerText(), 'Two changes.', 'no stage is left');
    assert.deepEqual([await boxes.nth(0).isChecked(), await boxes.nth(1).isChecked()], [true, false], 'what was left out stays left out');
    await page.reload();
    await page.getByText('2 proposed').waitFor();
    assert.deepEqual([await boxes.nth(0).isChecked(), await boxes.nth(1).isChecked()], [true, false], 'also after a reload');
    slow.closeAllConnections();
    slow.close();
    await page.unroute('**/api/assistant/message/stream**');
    await page.route('**/api/assistant/message/stream**', async (route) => route.fulfill(await answer()));

    // A stream that breaks is followed by one POST; if that fails too, the bubble says so and the box is free.
    answer = () => ({ status: 500, body: '' });
    await say('Break');
    await page.getByText('Sorry, I could not process that. (sse_error)').waitFor();
    const plain = posted.pop();
    assert.deepEqual([plain.message, plain.options.mode, plain.options.streamSummary, plain.transcript.length], ['Break', 'chat', false, 3]);
    answer = () => stream(pieces(['result', { text: 'Well again.', operations: [] }], ['done', 'true']));
    await say('Once more');
    await page.getByText('Well again.').waitFor();
  },
  { quiet: [/500|502/] },
);
