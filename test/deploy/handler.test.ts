/** From a handler's file to a name, a command and requirements. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { systemClock } from '../../core/runtime/clock.ts';
import { distinctName, handlerName, prepareHandler, requirementsOf } from '../../deploy/local/handler.ts';
import { UsageError } from '../../deploy/local/options.ts';
import { scratch } from '../helpers/scratch.ts';

const seams = { report: () => {}, signal: new AbortController().signal, clock: systemClock };

t.test('names', async (t) => {
  for (const [file, name] of [
    ['/a/tokens/handler.py', 'tokens'], ['/a/My Handler.ts', 'my-handler'], ['/a/b/main.js', 'b'], ['/a/b/rp_handler.py', 'b'],
    ['/a/b/resize.py', 'resize'], ['/handler.py', 'handler'], ['/a/ü/index.js', 'handler'], [`/a/${'x'.repeat(100)}.js`, 'x'.repeat(60)],
  ] as const) {
    t.equal(handlerName(file), name, file);
  }
  t.match(distinctName('tokens', '/a/tokens/handler.py'), /^tokens-[0-9a-f]{6}$/);
  t.not(distinctName('tokens', '/a/tokens/handler.py'), distinctName('tokens', '/b/tokens/handler.py'));
});

t.test('a JavaScript handler', async (t) => {
  const { folder, path } = await scratch(t);
  writeFileSync(path('greet.js'), '');
  const handler = await prepareHandler(path('greet.js'), '/project', join(folder, 'venvs'), seams);
  t.same(handler.command, [process.execPath, '--import', '/project/gpu-agent/handler/register.ts', path('greet.js')]);
  t.equal(handler.exampleInput, '{"input":{}}');
  writeFileSync(path('test_input.json'), '{\n "input": { "name": "Ada" }\n}\n');
  t.equal((await prepareHandler(path('greet.js'), '/project', folder, seams)).exampleInput, '{"input":{"name":"Ada"}}');
  writeFileSync(path('test_input.json'), '{');
  const damaged = prepareHandler(path('greet.js'), '/project', folder, seams);
  await t.rejects(damaged, { constructor: UsageError, message: /test_input\.json is not JSON/ });
});

t.test('requirements of a Python handler', async (t) => {
  const { folder, path } = await scratch(t);
  mkdirSync(path('plain'));
  t.same(requirementsOf(join(folder, 'plain', 'handler.py')), { more: ['runpod==1.12.0'] }, 'the SDK when nothing is asked for');
  const file = path('requirements.txt');
  for (const [text, more] of [
    ['runpod==1.7.13\nnumpy\n', []], ['numpy\n  RunPod>=1.7\n', []], ['numpy\n', ['runpod==1.12.0']],
    ['runpod-sdk-of-others\n', ['runpod==1.12.0']],
    ['# runpod\n', ['runpod==1.12.0']],
  ] as [string, string[]][]) {
    writeFileSync(file, text);
    t.same(requirementsOf(path('handler.py')), { file, more }, JSON.stringify(text));
  }
});
