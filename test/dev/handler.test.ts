/** From a handler's file to a name, a command and requirements. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exampleCurl, exampleInput, exampleRequest } from '@slipway/dev/example-request';
import { distinctName, handlerName, prepareHandler, requirementsOf } from '@slipway/dev/handler/handler';
import { UsageError } from '@slipway/dev/options';
import { isBareApp } from '@slipway/kit/host/asgi-app';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { scratch } from '../helpers/scratch.ts';

const root = join(import.meta.dirname, '../..');

const deps = { report: () => {}, signal: new AbortController().signal, clock: systemClock };

t.test('names', async (t) => {
  for (const [file, name] of [
    ['/a/tokens/handler.py', 'tokens'],
    ['/a/My Handler.ts', 'my-handler'],
    ['/a/b/main.js', 'b'],
    ['/a/b/rp_handler.py', 'b'],
    ['/a/b/resize.py', 'resize'],
    ['/handler.py', 'handler'],
    ['/a/ü/index.js', 'handler'],
    [`/a/${'x'.repeat(100)}.js`, 'x'.repeat(60)],
  ] as const) {
    t.equal(handlerName(file), name, file);
  }
  t.match(distinctName('tokens', '/a/tokens/handler.py'), /^tokens-[0-9a-f]{6}$/);
  t.not(distinctName('tokens', '/a/tokens/handler.py'), distinctName('tokens', '/b/tokens/handler.py'));
});

t.test('a JavaScript handler', async (t) => {
  const { folder, path } = await scratch(t);
  writeFileSync(path('greet.js'), '');
  const handler = await prepareHandler({ file: path('greet.js'), lb: false }, join(folder, 'venvs'), deps);
  t.same(handler.command, [process.execPath, '--import', join(root, 'worker/register.ts'), path('greet.js')]);
  t.equal(handler.example.body, '{"input":{}}');
  writeFileSync(path('test_input.json'), '{\n "input": { "name": "Ada" }\n}\n');
  t.equal(
    (await prepareHandler({ file: path('greet.js'), lb: false }, folder, deps)).example.body,
    '{"input":{"name":"Ada"}}',
  );
  writeFileSync(path('test_input.json'), '{');
  const damaged = prepareHandler({ file: path('greet.js'), lb: false }, folder, deps);
  await t.rejects(damaged, { constructor: UsageError, message: /test_input\.json is not JSON/ });
});

t.test('the example that an endpoint carries', async (t) => {
  const cases: [lb: boolean, method: string, path: string, body: string | undefined, example: string][] = [
    [false, 'POST', '/runsync', '{"input":{"a":1}}', '{"a":1}'],
    [false, 'POST', '/runsync', '{"input":{"id":9007199254740993}}', '{"id":9007199254740993}'],
    [false, 'POST', '/runsync', '{"input":{}}', ''],
    [false, 'POST', '/runsync', '{"input":"text"}', ''],
    [false, 'POST', '/runsync', 'null', ''],
    [false, 'POST', '/runsync', `{"input":{"a":"${'x'.repeat(70_000)}"}}`, ''],
    [true, 'POST', '/chat', '[1]', '{"method":"POST","path":"/chat","body":[1]}'],
    [true, 'GET', '/models', undefined, '{"method":"GET","path":"/models"}'],
    [true, 'GET', '/', undefined, ''],
  ];
  for (const [lb, method, path, body, example] of cases)
    t.equal(exampleInput({ lb, example: { method, path, body } }), example, `${method} ${path} ${body?.slice(0, 50)}`);
});

t.test('requirements of a Python handler', async (t) => {
  const { folder, path } = await scratch(t);
  mkdirSync(path('plain'));
  t.same(
    requirementsOf(join(folder, 'plain', 'handler.py')),
    { more: ['runpod==1.12.0'] },
    'the SDK when nothing is asked for',
  );
  const file = path('requirements.txt');
  for (const [text, more] of [
    ['runpod==1.7.13\nnumpy\n', []],
    ['numpy\n  RunPod>=1.7\n', []],
    ['numpy\n', ['runpod==1.12.0']],
    ['runpod-sdk-of-others\n', ['runpod==1.12.0']],
    ['# runpod\n', ['runpod==1.12.0']],
  ] as [string, string[]][]) {
    writeFileSync(file, text);
    t.same(requirementsOf(path('handler.py')), { file, more }, JSON.stringify(text));
  }
});

t.test('a syntax error is reported before anything is installed', async (t) => {
  const { folder, path } = await scratch(t);
  const lines: string[] = [];
  const noting = { ...deps, report: (line: string) => void lines.push(line) };
  const prepare = () => prepareHandler({ file: path('handler.py'), lb: false }, path('venvs'), noting);
  writeFileSync(path('handler.py'), 'import helper\n\ndef handler(job)\n    return 1\n');
  writeFileSync(path('helper.py'), 'x = 1\n');
  await t.rejects(prepare(), {
    constructor: UsageError,
    message:
      /handler\.py cannot run, because of a mistake in its syntax:\n *File "handler\.py", line 3\n.*expected ':'/s,
  });
  writeFileSync(path('handler.py'), 'import helper\n');
  writeFileSync(path('helper.py'), 'x = (1\n');
  await t.rejects(prepare(), { constructor: UsageError, message: /File "helper\.py", line 1/ });
  t.same(lines, [], 'nothing was made');
  t.same(readdirSync(folder).sort(), ['handler.py', 'helper.py']);
});

t.test('a bare ASGI app is served by uvicorn', async (t) => {
  const { path } = await scratch(t);
  const file = path('app.py');
  for (const [text, bare] of [
    ['from fastapi import FastAPI\napp = FastAPI(title="x")\n', true],
    ['import fastapi\napp: fastapi.FastAPI = fastapi.FastAPI()\n', true],
    ['from starlette.applications import Starlette\napp = Starlette(routes=[])\n', true],
    ['import uvicorn\nfrom fastapi import FastAPI\napp = FastAPI()\nuvicorn.run(app)\n', false],
    ['from http.server import HTTPServer\napp = HTTPServer(a, b)\napp.serve_forever()\n', false],
    ['def f():\n    app = FastAPI()\n', false],
    ['from flask import Flask\napp = Flask(__name__)\napp.run()\n', false],
  ] as const) {
    writeFileSync(file, text);
    t.equal(isBareApp(file), bare, text);
    t.same(requirementsOf(file, true), { more: bare ? ['uvicorn==0.54.0'] : [] });
  }
  writeFileSync(file, 'app = FastAPI()\n');
  writeFileSync(path('requirements.txt'), 'fastapi\nuvicorn[standard]>=0.30\n');
  t.same(requirementsOf(file, true), { file: path('requirements.txt'), more: [] });
});

t.test('a handler that is an HTTP server', async (t) => {
  const { folder, path } = await scratch(t);
  const file = path('server.mjs');
  writeFileSync(file, '');
  const curl = async (): Promise<string> => {
    const handler = await prepareHandler({ file, lb: true }, folder, deps);
    return exampleCurl({ url: 'http://h:1', apiKey: 'k', endpointId: 'id', coreAddress: '', handler });
  };
  t.equal(
    await curl(),
    "curl -sN http://h:1/v2/id/ -H 'Authorization: Bearer k'",
    'without a file one that cannot be wrong',
  );
  for (const [text, line] of [
    [
      '{"path":"/chat","body":{"a":"it\'s"}}',
      `http://h:1/v2/id/chat -H 'Authorization: Bearer k' -H 'Content-Type: application/json' -d '{"a":"it'\\''s"}'`,
    ],
    ['{"path":"/a?b=c&d","method":"DELETE"}', `-X DELETE 'http://h:1/v2/id/a?b=c&d' -H 'Authorization: Bearer k'`],
  ] as const) {
    writeFileSync(path('test_request.json'), text);
    t.equal(await curl(), `curl -sN ${line}`);
  }
  for (const [text, message] of [
    ['{', /not JSON/],
    ['{"path":"chat"}', /`path`/],
    ['{"path":"/a b"}', /`path`/],
    ['{"method":"post;"}', /`method`/],
  ] as const) {
    writeFileSync(path('test_request.json'), text);
    t.throws(() => exampleRequest(file), { constructor: UsageError, message });
  }
  t.same(requirementsOf(path('app.py'), true), { more: [] }, 'the SDK of the queue is of no use to it');
  writeFileSync(path('requirements.txt'), 'fastapi\n');
  t.same(requirementsOf(path('app.py'), true), { file: path('requirements.txt'), more: [] });
});
