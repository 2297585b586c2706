/** Part of browser.test.ts, on its system: the playground, with workers that answer OpenAI clients. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { KeyScope, Permission } from '@slipway/proto/gen/slipway/v1/access_service';

import type { Test } from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { scratch } from '../../../helpers/scratch.ts';
import { jsHandler } from '../../../helpers/system/handlers.ts';
import { lbEndpoint } from '../../../helpers/system/lb-endpoint.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import type { BrowserParts } from './list-pages.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../../../..');

/** Adds the tests. */
export function playgroundPages(t: Test, { system, id: other, open, signIn, inspect }: BrowserParts): void {
  t.test('the playground: streaming chat, embeddings, images, code, errors, stop', async (t) => {
    const env = { MODEL_NAME: 'echo-1' };
    const id = await system.createEndpoint({ command: jsHandler('openai.js'), env, fields: { name: 'llama' } });
    const balanced = await lbEndpoint(
      system,
      { name: 'balanced-llama' },
      { command: jsHandler('openai-server.js'), more: { env: { MODEL_NAME: 'org/server' } } },
    );
    const files = await scratch(t);
    const page = await open(t);
    await signIn(page, system.key, `endpoints/${id}`);
    await page.getByRole('link', { name: 'Playground' }).click();
    const model = page.getByLabel('Model', { exact: true });
    await waitFor('the model to be known', async () => (await model.inputValue()) === 'echo-1');
    const said = page.getByRole('log', { name: 'Conversation' });
    const say = async (text: string): Promise<void> => {
      await page.getByLabel('Message').fill(text);
      await page.keyboard.press('Control+Enter');
    };

    await say(`wait ${files.path('go')}`);
    await said.getByText('wait', { exact: true }).waitFor();
    t.equal(await said.locator('.assistant p').textContent(), 'wait ', 'the first word, before the others are there');
    files.open('go');
    await said.locator('.assistant').getByText(files.path('go')).waitFor();
    await page.getByText(/began after .* · took /).waitFor();
    await say('fail');
    await page.getByRole('alert').getByText('The model `gone` does not exist.').waitFor();
    t.equal(await page.getByLabel('Message').inputValue(), 'fail', 'what got no answer can be sent again');
    t.equal(await said.getByRole('listitem').count(), 2, 'and is no part of the conversation');
    await say(`wait ${files.path('never')}`);
    await said.locator('.assistant').nth(1).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText(/You stopped it after/).waitFor();
    await waitFor(
      'the worker to stop',
      () => existsSync(files.path('never.note')) && /stopped/.test(readFileSync(files.path('never.note'), 'utf8')),
    );

    await page.getByLabel('System prompt').fill('Answer in one word.');
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByLabel('Message').fill("it's code");
    await page.getByText('View code').click();
    await inspect(t, page, 'playground, chat');
    const given = { cwd: root, env: { ...process.env, SLIPWAY_API_KEY: system.key }, timeout: 60_000 };
    const code = async (title: string) => (await page.getByLabel(title, { exact: true }).textContent())!;
    t.match(await code('Python'), `base_url="${system.url}/v2/${id}/openai/v1"`);
    t.match(await code('Python'), 'messages=[{"role": "system", "content": "Answer in one word."}');
    const js = await run(process.execPath, ['--input-type=module', '-e', await code('JavaScript')], given);
    t.equal(js.stdout.trim(), "it's code");
    const curl = await run('sh', ['-c', await code('curl')], given);
    t.match(curl.stdout, /data: .*it's /);
    t.notMatch(`${await code('Python')} ${await code('curl')}`, system.key, 'the key is not in it');

    await page.getByRole('button', { name: 'Embeddings' }).click();
    await page.getByLabel('Texts, one a line').fill('one\nthree');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('row', { name: /three 3 0\.99\d 5\.00, 0\.500, -0\.250/ }).waitFor();
    await inspect(t, page, 'playground, embeddings');
    await page.getByRole('button', { name: 'Images' }).click();
    await page.getByLabel('Prompt').fill('no picture');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('not an image that a browser shows').waitFor();
    await page.getByLabel('Prompt').fill('a pixel');
    await page.keyboard.press('Control+Enter');
    const image = page.getByRole('img', { name: 'a pixel' });
    await image.waitFor();
    const drawn = "document.querySelector('.pictures img').naturalWidth";
    await waitFor('it to be drawn', async () => (await page.evaluate(drawn)) === 1);
    await inspect(t, page, 'playground, images');

    await page.goto(`${system.url}/console/endpoints/${balanced}`);
    await page.getByRole('link', { name: 'Playground' }).click();
    await waitFor('its model', async () => (await model.inputValue()) === 'org/server');
    await say('through the balancer');
    await said.locator('.assistant').getByText('through the balancer').waitFor();

    await page.goto(`${system.url}/console/endpoints/${other}/try`);
    t.equal(await page.getByRole('link', { name: 'Playground', exact: true }).count(), 0, 'not for other handlers');
    await page.getByRole('link', { name: 'playground' }).click();
    await page.getByLabel('Message').waitFor();
    const permissions = { management: Permission.READ, jobs: Permission.READ };
    const reader = { name: 'reader', scope: KeyScope.RESTRICTED, endpointIds: [], accountId: '', permissions };
    const { secret } = await call(system.clients.keys, 'createKey', reader, system.key);
    const ofReader = await open(t);
    await signIn(ofReader, secret, `endpoints/${id}/playground`);
    await ofReader.getByText('This key may not send requests.').waitFor();
    for (const made of [id, balanced])
      await call(system.clients.endpoints, 'deleteEndpoint', { id: made, stopWorkers: true }, system.key);
  });
}
