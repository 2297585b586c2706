// test: postgres, python, 40 s
/**
 * "Try it" of a load-balancing endpoint in a real Chromium with a real worker: a cold start, streamed answers, and
 * faulty answers.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import t from 'tap';
import { whyNoChromium } from '../../helpers/console/chromium.ts';
import { PYTHONS, skipWithoutPython } from '../../helpers/system/handlers.ts';
import { lbClient, lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { consolePages } from './pages/console-pages.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../../..');

t.setTimeout(600_000);
t.test('trying a load-balancing endpoint', { skip: whyNoChromium(), timeout: 400_000 }, async (t) => {
  const system = await startSystem(t);
  const { open, inspect } = await consolePages(t, system);
  const { at, shown } = lbClient(system);
  const id = await lbEndpoint(system, { workersMin: 0, name: 'balanced' }, { more: { env: { START_MS: '4000' } } });

  const tryPage = async (t: Test): Promise<Page> => {
    const page = await open(t, { at: `endpoints/${id}/try` });
    await page.getByRole('heading', { name: 'Request' }).waitFor();
    return page;
  };
  const send = async (
    page: Page,
    asked: { method?: string; path: string; headers?: string; body?: string },
  ): Promise<void> => {
    const { method = 'GET', path, headers = '', body } = asked;
    await page.getByLabel('Method').selectOption(method);
    await page.getByLabel('Path').fill(path);
    await page.getByLabel('Headers', { exact: true }).fill(headers);
    if (body !== undefined) await page.getByLabel('Body', { exact: true }).first().fill(body);
    await page.getByRole('button', { name: 'Send' }).click();
  };
  const answer = (page: Page) => page.locator('section').filter({ has: page.getByRole('heading', { name: 'Answer' }) });
  const shownBody = (page: Page) => answer(page).getByLabel('Body', { exact: true });
  const say = (type: string, bytes: Buffer, status = 200): string =>
    `/say?status=${status}&type=${encodeURIComponent(type)}&bytes=${encodeURIComponent(bytes.toString('base64'))}`;
  const downloaded = async (page: Page): Promise<{ name: string; bytes: Buffer }> => {
    const download = page.waitForEvent('download');
    await answer(page).getByRole('button', { name: 'Download' }).click();
    const file = await download;
    return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) };
  };

  const pathIs = (page: Page, path: string) =>
    waitFor(`the path ${path}`, async () => (await page.locator('#path').inputValue()) === path);

  await t.test('a cold start is shown while it lasts', async (t) => {
    const page = await tryPage(t);
    await pathIs(page, '/ping');
    await page.getByRole('button', { name: 'Send' }).click();
    await answer(page).getByText('Waiting for an answer.').waitFor();
    await answer(page)
      .getByText(/^A cold start: no worker is ready yet, 1 worker starting for/)
      .waitFor();
    await inspect(t, page, 'a request that waits for a cold start');
    await answer(page).getByText('200 ok').waitFor();
    await answer(page).getByText('The answer has no body.').waitFor();
    t.equal(await answer(page).getByText('Waiting for an answer.').count(), 0);
  });

  await t.test('JSON request and response, with headers, formatted; the input stays', async (t) => {
    const page = await tryPage(t);
    await send(page, {
      method: 'POST',
      path: '/predict?größe=2',
      headers: 'X-Mine: yes\n\nAccept:application/json',
      body: '{"prompt": "a fox"}',
    });
    await shownBody(page).getByText('"method": "POST"').waitFor();
    t.match(
      await shownBody(page).textContent(),
      /^\{\n {2}"worker": "\w{14}",\n[^]*"url": "\/predict\?gr%C3%B6%C3%9Fe=2"[^]*"X-Mine", "yes"/,
    );
    await answer(page)
      .getByText(/^\d+ headers$/)
      .click();
    await answer(page)
      .getByLabel('Headers of the answer')
      .getByText(/X-Runpod-Worker-Id: \w{14}/)
      .waitFor();
    await inspect(t, page, 'an answer of a load-balancing endpoint');
    const { name, bytes } = await downloaded(page);
    t.equal(name, 'answer.json');
    t.match(JSON.parse(bytes.toString()), { bytes: 19 }, 'as it came');
    await page.reload();
    await page.getByRole('heading', { name: 'Request' }).waitFor();
    t.equal(await page.getByLabel('Path').inputValue(), '/predict?größe=2');
    await t.test('the generated code does the same', async (t) => code(t, page));
  });

  /** The code that is offered for what was tried last, run as it is copied. */
  async function code(t: Test, page: Page): Promise<void> {
    await page.getByRole('link', { name: 'Code', exact: true }).click();
    const given = { cwd: root, env: { ...process.env, SLIPWAY_API_KEY: system.key }, timeout: 60_000 };
    const programs: [title: string, skip: false | string, file: string, args: (text: string) => string[]][] = [
      ['Python', skipWithoutPython('new'), PYTHONS.new, (text) => ['-c', text]],
      ['JavaScript', false, process.execPath, (text) => ['--input-type=module', '-e', text]],
      ['curl', false, 'sh', (text) => ['-c', text]],
    ];
    for (const [title, skip, file, args] of programs) {
      const text = (await page.getByLabel(title, { exact: true }).textContent())!;
      t.notMatch(text, system.key, 'the key is not in it');
      await t.test(title, { skip }, async (t) => {
        const { stdout } = await run(file, args(text), given);
        t.match(stdout, /"method":"POST","url":"\/predict\?gr%C3%B6%C3%9Fe=2".*"X-Mine","yes".*"bytes":19/);
      });
    }
  }

  await t.test('it begins with the example of the endpoint, and so does its code', async (t) => {
    const exampleInput = '{"path":"/predict?a=1","body":{"prompt":"a lighthouse"}}';
    const change = (text: string) => system.request('PATCH', `/v1/endpoints/${id}`, { exampleInput: text });
    t.match(await change(exampleInput), { status: 200 });
    t.teardown(() => change(''));
    const page = await tryPage(t);
    await pathIs(page, '/predict?a=1');
    t.equal(await page.getByLabel('Method').inputValue(), 'POST');
    t.same(JSON.parse(await page.getByLabel('Body', { exact: true }).first().inputValue()), { prompt: 'a lighthouse' });
    await page.getByRole('link', { name: 'Code', exact: true }).click();
    const curl = page.getByLabel('curl', { exact: true });
    await curl.waitFor();
    const { stdout } = await run('sh', ['-c', (await curl.textContent())!], {
      env: { ...process.env, SLIPWAY_API_KEY: system.key },
    });
    t.match(stdout, /"method":"POST","url":"\/predict\?a=1"/);
    await page.getByRole('link', { name: 'Try it' }).click();
    await page.getByRole('button', { name: 'Send' }).click();
    await answer(page).getByText('200 ok').waitFor();
  });

  await t.test('an endless response: live, and stopped by the user', async (t) => {
    const page = await tryPage(t);
    await send(page, { path: '/endless' });
    await answer(page).getByText('live', { exact: true }).waitFor();
    await shownBody(page)
      .getByText(/tick 3\b/)
      .waitFor();
    t.ok(await page.getByRole('button', { name: 'Send' }).isDisabled(), 'one at a time');
    const left = async (): Promise<number> => (await shown(at(id, '/count'))).left;
    const before = await left();
    await page.getByRole('button', { name: 'Stop' }).click();
    await answer(page).getByText('You stopped it.').waitFor();
    await waitFor('the worker to hear it', async () => (await left()) > before);
    t.match((await downloaded(page)).bytes.toString(), /^tick 1\ntick 2\n/, 'what came is kept');
    await send(page, { path: '/hang' });
    await answer(page)
      .getByText(/^1 worker ready: the request is with one/)
      .waitFor();
    const held = await left();
    await page.getByRole('link', { name: 'Activity', exact: true }).click();
    await waitFor('leaving the page to end it too', async () => (await left()) > held);
  });

  await t.test('a huge response: its first part is shown, all of it is a file', async (t) => {
    const page = await tryPage(t);
    await send(page, { path: '/download?bytes=20000000' });
    await answer(page)
      .getByText(/of which the first .* are shown/)
      .waitFor();
    await answer(page).getByText(/^took/).waitFor();
    t.equal((await shownBody(page).textContent())!.length, 1_000_000);
    const { name, bytes } = await downloaded(page);
    t.equal(name, 'answer.txt');
    t.equal(bytes.length, 20_000_000);
    await inspect(t, page, 'a huge answer');
  });

  await t.test('HTML with a script is shown as text, and binary data as bytes', async (t) => {
    const page = await tryPage(t);
    const html =
      '<!doctype html><script>window.wasRun = 1</script><img src="x" onerror="window.wasRun = 1"><h1>Hello</h1>';
    await send(page, { path: say('text/html', Buffer.from(html)) });
    await shownBody(page).getByText('<h1>Hello</h1>').waitFor();
    t.equal(await shownBody(page).textContent(), html);
    t.notOk(await page.evaluate('window.wasRun'));
    t.equal(await page.getByRole('heading', { name: 'Hello' }).count(), 0);
    const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
    await send(page, { path: say('image/png', png) });
    await answer(page).getByText('The body is not text.').waitFor();
    t.same(await downloaded(page), { name: 'answer.png', bytes: png });
    await send(page, { path: say('text/plain', Buffer.from([0x61, 0, 0xff, 0xfe])) });
    await answer(page).getByText('The body is not text.').waitFor();
    await send(page, { path: say('text/plain; charset=iso-8859-1', Buffer.from('café', 'latin1')) });
    await shownBody(page).getByText('café').waitFor();
  });

  await t.test('refusals and failures, each with its reason', async (t) => {
    const page = await tryPage(t);
    await send(page, { path: say('text/plain', Buffer.from('I am a teapot'), 418) });
    await answer(page).locator('.badge.warn').getByText(/^418/).waitFor();
    await shownBody(page).getByText('I am a teapot').waitFor();
    await send(page, { path: say('text/plain', Buffer.from('it broke'), 500) });
    await answer(page).locator('.badge.bad').getByText(/^500/).waitFor();
    await inspect(t, page, 'an answer that is an error');
    await send(page, { method: 'POST', path: '/run', body: '{}' });
    await shownBody(page).getByText('not allowed for QB API').waitFor();
    const alert = page.getByRole('alert');
    for (const [path, headers, body, says] of [
      ['ping', '', '{}', /must begin with/],
      ['/a#b', '', '{}', /no "#"/],
      ['/', 'no header', '{}', /written as "Name: value"/],
      ['/', '', '{', /is not valid JSON/],
      ['/', `X: ${'x'.repeat(12_000)}`, '{}', /too long/],
    ] as const) {
      await send(page, { method: 'POST', path, headers, body });
      await alert.getByText(says).waitFor();
    }
    await inspect(t, page, 'a request that cannot be sent');
    await send(page, { method: 'POST', path: '/', headers: 'Authorization: Bearer x', body: '{}' });
    await answer(page)
      .getByText(/This cannot be sent from here/)
      .waitFor();
    // A browser drops the part of a broken body that the page has not read, so the worker ends when it is shown.
    await send(page, { path: '/half?held' });
    await shownBody(page).getByText('half').waitFor();
    await at(id, '/die');
    await answer(page)
      .getByText(/The answer is incomplete/)
      .waitFor();
    await shownBody(page).getByText('half').waitFor();
  });

  await t.test('an answer whose beginning is lost with its connection is incomplete, and not refused', async (t) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        socket.end('HTTP/1.1 200 OK\r\nx-console-answer: 1\r\ntransfer-encoding: chunked\r\n\r\n');
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.teardown(() => server.close());
    const page = await tryPage(t);
    // In place of a facade whose first bytes the browser drops, because the page had no time to read them.
    await page.route('**/console/api/lb/*', (route) =>
      route.continue({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }),
    );
    await send(page, { path: '/ping' });
    await answer(page)
      .getByText(/^The answer is incomplete: its worker or a connection ended/)
      .waitFor();
  });

  t.test('its activity shows requests, and failed ones without their query', async (t) => {
    await at(id, `${say('text/plain', Buffer.from('x'), 503)}&secret=1`);
    const page = await open(t, { at: `endpoints/${id}/activity` });
    const failed = page.getByRole('region', { name: /^Last failed requests/ });
    await failed.getByText('GET /say?…').first().waitFor({ timeout: 90_000 });
    t.notMatch(await page.content(), 'secret=1');
    await page.getByRole('img', { name: /^Requests a second\./ }).waitFor();
    await inspect(t, page, 'requests of a load-balancing endpoint');
  });
});
