/** Part of browser.test.ts, on its system: the code that an endpoint's page offers does what it says. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { PYTHONS, skipWithoutPython } from '../../../helpers/system/handlers.ts';
import type { BrowserParts } from './list-pages.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../../../..');

/** Adds the tests. */
export function codePages(t: Test, { system, id, open, signIn }: BrowserParts): void {
  t.test('code for Python, JavaScript and curl runs as it is copied, with the key in the environment', async (t) => {
    const page = await open(t);
    await signIn(page);
    const exampleInput = '{"prompt":"a lighthouse at dusk"}';
    const change = (fields: object) => system.request('PATCH', `/v1/endpoints/${id}`, fields);
    t.match(await change({ exampleInput }), { status: 200 });
    t.teardown(() => change({ exampleInput: '' }));
    await page.goto(`${system.url}/console/endpoints/${id}/code`);
    const code = async (title: string): Promise<string> =>
      (await page.getByLabel(title, { exact: true }).textContent())!;
    const given = { cwd: root, env: { ...process.env, SLIPWAY_API_KEY: system.key }, timeout: 60_000 };
    const newest = async (): Promise<unknown> =>
      (await system.request('GET', `/v2/${id}/requests?limit=1`)).json.requests;
    const programs: [
      title: string,
      skip: false | string,
      file: string,
      args: (text: string) => string[],
      says: RegExp,
    ][] = [
      [
        'Python',
        skipWithoutPython('new'),
        PYTHONS.new,
        (text) => ['-c', text],
        /^{'prompt': 'a lighthouse at dusk'}$/m,
      ],
      [
        'JavaScript',
        false,
        process.execPath,
        (text) => ['--input-type=module', '-e', text],
        /status: 'COMPLETED'[^]*prompt: 'a lighthouse at dusk'/,
      ],
      ['curl', false, 'sh', (text) => ['-c', text], /"status":"COMPLETED".*"prompt":\s?"a lighthouse at dusk"/],
    ];
    let before = await newest();
    for (const [title, skip, file, args, says] of programs) {
      const text = await code(title);
      t.notMatch(text, system.key, 'the key is not in it');
      await t.test(title, { skip }, async (t) => {
        const { stdout } = await run(file, args(text), given);
        t.match(stdout, says);
        const after = await newest();
        t.match(after, [{ status: 'COMPLETED' }]);
        t.notSame(after, before, 'by a job of its own');
        before = after;
      });
    }
    const wrong = { ...given, env: { ...given.env, SLIPWAY_API_KEY: 'wrong' } };
    await t.rejects(
      run('sh', ['-c', (await code('curl')).replace('-sS', '-sS --fail')], wrong),
      'with another key it is refused',
    );
  });
}
