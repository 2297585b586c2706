// test: alone, postgres, python, 20 s
/**
 * From a folder with a Python handler to the first answer in one command: built by a real Podman, run in a container on
 * a real agent. After a change the same command answers with the new handler.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { commandLine } from '../../cli/command-line.ts';
import { podmanSkip, startPodman } from '../../helpers/engines/podman.ts';
import { makeWorkerImage } from '../../helpers/engines/podman-images.ts';
import { PYTHONS, skipWithoutPython } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';

/** An image with the packages of requirements.txt. A build without internet cannot install them. */
const WITH_SDK = 'localhost/with-sdk:1';
/** The same with `python` on its PATH, as the images of python.org have it. */
const WITH_PYTHON = 'localhost/with-python:1';

t.setTimeout(600_000);

t.test('from a folder to the first answer', { skip: podmanSkip || skipWithoutPython('new') }, async (t) => {
  const podman = await startPodman();
  await makeWorkerImage(podman, PYTHONS.new, join(import.meta.dirname, '../../handlers/all.py'), WITH_SDK);
  const system = await startSystem(t, { agentEnv: { SLIPWAY_AGENT_CONTAINERS: podman.socket } });
  const env = Object.fromEntries(Object.entries(podman.env).filter((entry): entry is [string, string] => !!entry[1]));
  const cli = commandLine(t, { ...env, SLIPWAY_CORE_ADDRESS: system.cores[0]!.address, SLIPWAY_API_KEY: system.key });
  const folder = join(cli.cwd, 'hello');
  mkdirSync(folder);
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  const handler = (word: string): string =>
    [
      'import runpod',
      'def handler(job):',
      `    return {"greeting": "${word} " + job["input"]["name"]}`,
      'runpod.serverless.start({"handler": handler})',
      '',
    ].join('\n');
  write('handler.py', handler('hello'));
  write('test_input.json', '{"input": {"name": "Slipway"}}');
  write('Containerfile', `FROM ${WITH_SDK}\nCOPY handler.py /app/handler.py\n`);
  const deploy = ['deploy', './hello', '--compute', 'cpu', '--input', '@hello/test_input.json'];

  await t.test('one command', async (t) => {
    const { code, stdout, stderr } = await cli.run(...deploy);
    t.equal(code, 0, stderr);
    t.match(stdout, /"greeting": "hello Slipway"/);
  });

  await t.test('the example of the endpoint is that of the folder', async (t) => {
    const { code, stdout, stderr } = await cli.run('jobs', 'run', '--wait', '--endpoint', 'hello');
    t.equal(code, 0, stderr);
    t.match(stdout, /"greeting": "hello Slipway"/);
  });

  await t.test('a folder with an ASGI app: its answer', async (t) => {
    const base = join(cli.cwd, 'base');
    mkdirSync(base);
    writeFileSync(join(base, 'python'), '#!/bin/sh\nexec /usr/bin/python3 "$@"\n', { mode: 0o755 });
    writeFileSync(join(base, 'Containerfile'), `FROM ${WITH_SDK}\nCOPY python /usr/bin/python\n`);
    await podman.cli('build', '--quiet', '--pull=never', '--tag', WITH_PYTHON, base);
    const chat = join(cli.cwd, 'chat');
    mkdirSync(chat);
    const app = ['from fastapi import FastAPI', 'app = FastAPI()', '@app.get("/greet")', 'def greet(name: str):'];
    writeFileSync(join(chat, 'app.py'), [...app, '    return {"greeting": "hello " + name}', ''].join('\n'));
    const { code, stdout, stderr } = await cli.run(
      'deploy',
      './chat',
      '--compute',
      'cpu',
      '--base',
      WITH_PYTHON,
      '--json',
    );
    t.equal(code, 0, stderr);
    const { id, type } = JSON.parse(stdout) as { id: string; type: string };
    t.equal(type, 'LB');
    const headers = { authorization: `Bearer ${system.key}` };
    const answer = await fetch(`${system.url}/v2/${id}/greet?name=Slipway`, { headers });
    t.same(await answer.json(), { greeting: 'hello Slipway' });
  });

  await t.test('the same command after a change', async (t) => {
    write('handler.py', handler('good evening'));
    const { code, stdout, stderr } = await cli.run(...deploy);
    t.equal(code, 0, stderr);
    t.match(stdout, /"greeting": "good evening Slipway"/, 'not from a worker of the release before');
  });
});
