// test: alone, postgres, 10 s
/** `slipway deploy FOLDER` with a real Podman, a real registry and core: built, pushed, released, released again. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MachineContainers } from '@slipway/proto/gen/slipway/v1/agent_service';
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { GpuHandover } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { podmanSkip, startPodman } from '../helpers/engines/podman.ts';
import { BASE_IMAGE } from '../helpers/engines/podman-images.ts';
import { REGISTRY_USER, registrySkip, startRegistry } from '../helpers/engines/registry.ts';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../helpers/system/core-replicas.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import { commandLine } from './command-line.ts';

/** A Podman whose builds end when two of them have. */
const BOTH_BUILT = `#!/bin/sh
PATH=$REAL_PATH
podman "$@"
code=$?
if [ "$1" = build ]; then
  touch "$ENDED/$$"
  while [ "$(ls "$ENDED" | wc -l)" -lt 2 ]; do sleep 0.05; done
fi
exit $code
`;

/** A Podman that reaches the engine of any machine at the same socket, in place of SSH. */
const BY_SSH = `#!/bin/sh
PATH=$REAL_PATH
case "$2" in ssh://*) shift 2; exec podman --url "unix://$SOCKET" "$@" ;; esac
exec podman "$@"
`;

t.setTimeout(600_000);

t.test('from a folder to an endpoint', { skip: podmanSkip || registrySkip }, async (t) => {
  const podman = await startPodman();
  const registry = await startRegistry(podman);
  const core = await startReplicas(t, 1, { SLIPWAY_PRIVATE_REGISTRIES: 'true' });
  const env = Object.fromEntries(Object.entries(podman.env).filter((entry): entry is [string, string] => !!entry[1]));
  const authFile = join(podman.folder, 'auth.json');
  const login = Buffer.from(`${REGISTRY_USER.username}:${REGISTRY_USER.password}`).toString('base64');
  writeFileSync(authFile, JSON.stringify({ auths: { [registry.address]: { auth: login } } }));
  const variables = {
    ...env,
    REGISTRY_AUTH_FILE: authFile,
    SLIPWAY_CORE_ADDRESS: core.replicas[0]!.address,
    SLIPWAY_API_KEY: core.key,
  };
  const cli = commandLine(t, variables);
  const folder = join(cli.cwd, 'ocr');
  mkdirSync(folder);
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  const settings = ['--workers-max', '0'];
  const push = ['--push', `${registry.address}/me/ocr`];
  const endpoints = async () =>
    (await call(core.clients.endpoints, 'listEndpoints', { includeTemplate: true }, core.key)).endpoints;

  await t.test('a folder with nothing to build', async (t) => {
    t.match(await cli.run('deploy', './orc'), { code: 2, stderr: /There is no folder \.\/orc\.\n$/ });
    t.match(await cli.run('deploy', 'orc'), { code: 2, stderr: /"orc" is no folder, so it is taken as a command/ });
    t.match(await cli.run('deploy', './ocr'), {
      code: 2,
      stderr: /has no Containerfile or Dockerfile, and no handler/,
    });
    write('handler.py', 'import runpod\n');
    t.match(await cli.run('deploy', './ocr'), {
      code: 2,
      stderr: /handler\.py imports runpod: name it in .*ocr\/requirements\.txt/,
    });
    t.match(await cli.run('deploy', '--push', 'a/b', 'true'), {
      code: 2,
      stderr: /--push, --on and --base are for a folder/,
    });
    t.match(await cli.run('deploy', './ocr', '--push', 'r.example/a:1'), {
      code: 2,
      stderr: /a repository without a tag/,
    });
  });

  await t.test('a handler on a base image, which stays in the engine of this machine', async (t) => {
    write('handler.py', 'print("hello")\n');
    write('test_input.json', '{"input": "none"}');
    t.match(await cli.run('deploy', './ocr'), {
      code: 2,
      stderr: /test_input\.json must have a JSON object as "input"/,
    });
    // As a JavaScript number, this id would be another one.
    write('test_input.json', '{"input": {"image": "a.png", "id": 9007199254740993}}\n');
    const { code, stderr } = await cli.run('deploy', './ocr', '--base', BASE_IMAGE, '--name', 'here', ...settings);
    t.equal(code, 0, stderr);
    t.match(stderr, /is in podman of this machine only/);
    t.match(stderr, /Go on: slipway jobs run --wait --endpoint [a-z0-9]{14}\n/);
    const [made] = await endpoints();
    t.equal(
      made!.exampleInput,
      '{"image":"a.png","id":9007199254740993}',
      'the job of the folder is the example of the endpoint',
    );
    await cli.run('jobs', 'run', '--endpoint', 'here', '--input', '@ocr/test_input.json');
    const { jobs } = await call(
      core.clients.jobs,
      'listJobs',
      { endpointId: made!.id, state: JobState.UNSPECIFIED, offset: 0, limit: 1, pageToken: '', oldestFirst: false },
      core.key,
    );
    const { input } = await call(
      core.clients.jobs,
      'getJobInput',
      { endpointId: made!.id, jobId: jobs[0]!.id },
      core.key,
    );
    t.equal(
      input.toString(),
      '{"image":"a.png","id":9007199254740993}',
      'and its input is that of the job, not the whole job',
    );
    const image = made!.template!.imageName;
    t.match(image, /^localhost\/ocr:[0-9a-f]{12}$/);
    t.match(
      await podman.cli('image', 'inspect', '--format', '{{.Config.Cmd}} {{.Config.WorkingDir}}', image),
      'handler.py] /app',
    );
  });

  await t.test("a Containerfile that cannot be built: the builder's words, and nothing is created", async (t) => {
    write('Containerfile', `FROM ${BASE_IMAGE}\nCOPY no-such-file /\n`);
    const { code, stderr } = await cli.run('deploy', './ocr', ...push, ...settings);
    t.equal(code, 1);
    t.match(stderr, /podman failed, building \.\/ocr:\n[^]*no-such-file/);
    t.equal((await endpoints()).length, 1);
  });

  await t.test('a Containerfile: pushed and released; again only after a change', async (t) => {
    write('Containerfile', `FROM ${BASE_IMAGE}\nCOPY handler.py /\nCMD ["/handler.py"]\n`);
    const first = await cli.json<{ id: string; version: number }>('deploy', './ocr', ...push, ...settings);
    const imageOf = async () => (await endpoints()).find(({ id }) => id === first.id)!.template!.imageName;
    const image = await imageOf();
    const [, tag = ''] = /\/me\/ocr:([0-9a-f]{12})$/.exec(image) ?? [];
    t.match(await registry.digest('me/ocr', tag), /^sha256:/, 'the registry has it');
    t.match(await cli.json('deploy', './ocr', ...push, ...settings), { id: first.id, version: first.version });
    t.equal(await imageOf(), image, 'the same files are the same image, and replace no worker');
    write('handler.py', 'print("other")\n');
    t.match(await cli.json('deploy', './ocr', ...push, ...settings), { id: first.id, version: first.version + 1 });
    t.not(await imageOf(), image);
  });

  await t.test('a folder with an HTTP server becomes a load-balancing endpoint', async (t) => {
    const chat = join(cli.cwd, 'chat');
    mkdirSync(chat);
    const put = (name: string, text: string): void => writeFileSync(join(chat, name), text);
    put('app.py', 'from fastapi import FastAPI\napp = FastAPI()\n');
    t.match(await cli.run('deploy', './chat'), { code: 2, stderr: /app\.py needs its packages: name them in / });
    t.match(await cli.run('deploy', './chat', '--type', 'qb'), { code: 2, stderr: /and no handler \(handler\.py, / });
    const on = ['--base', BASE_IMAGE, ...settings];
    t.match(await cli.run('deploy', './chat', '--input', '{}', ...on), {
      code: 2,
      stderr: /--input is for endpoints with/,
    });
    const { code, stderr } = await cli.run('deploy', './chat', ...on);
    t.equal(code, 0, stderr);
    t.match(
      stderr,
      /\.\/chat has an HTTP server, app\.py, so its endpoint is load-balancing\. For a queue: --type qb\n/,
    );
    const made = async () => (await endpoints()).find(({ name }) => name === 'chat')!;
    const image = (await made()).template!.imageName;
    t.equal((await made()).type, EndpointType.LB);
    const format = ['--format', '{{.Config.Env}} {{.Config.Cmd}}'];
    t.match(await podman.cli('image', 'inspect', ...format, image), /HOST=0\.0\.0\.0[^]*uvicorn\.run[^]* app\.py\]/);
    put('test_request.json', '{"path": "/chat", "body": {"id": 9007199254740993}}');
    put('Containerfile', `FROM ${BASE_IMAGE}\nCOPY app.py /\n`);
    t.match(await cli.run('deploy', './chat', '--name', 'chat', ...on), {
      code: 0,
      stderr: /has a test_request\.json, so/,
    });
    t.match(await made(), { version: 1, exampleInput: '{"path":"/chat","body":{"id":9007199254740993}}' });
    put('Containerfile', `FROM ${BASE_IMAGE}\nCOPY no-such-file /\n`);
    t.match(
      await cli.run('deploy', './chat', '--name', 'here', ...on),
      { code: 1, stderr: /The endpoint here has a queue, .*--type qb if/ },
      'nothing is built for an endpoint of the other type',
    );
    put('Containerfile', `FROM ${BASE_IMAGE}\nCOPY app.py /\n`);
    const late = join(cli.cwd, 'late');
    mkdirSync(late);
    writeFileSync(join(late, 'handler.py'), 'import runpod\nrunpod.serverless.start({"handler": print})\n');
    writeFileSync(join(late, 'requirements.txt'), 'runpod\n');
    const handler = /handler\.py imports runpod and no HTTP server: it is a handler of jobs, .* --type qb/;
    t.match(
      await cli.run('deploy', './late', '--name', 'chat', ...on),
      { code: 2, stderr: handler },
      'the endpoint is load-balancing, so the folder must be, without --type too',
    );
    writeFileSync(join(late, 'test_request.json'), '{"path": "/"}');
    t.match(await cli.run('deploy', './late', ...on), { code: 2, stderr: handler }, 'a request alone is no server');
    t.match(await made(), { version: 1 });
  });

  await t.test('the engine of another machine, by its address', async (t) => {
    const address = `unix://${podman.socket}`;
    const on = ['--on', address, ...settings];
    for (const wrong of ['ssh://-oProxyCommand=true', 'ssh://me@-v', 'ssh://me:secret@gpu-1'])
      t.match(await cli.run('deploy', './ocr', '--on', wrong), {
        code: 2,
        stderr: /--on takes .* ssh:\/\/USER@MACHINE/,
      });
    t.match(await cli.run('deploy', './ocr', '--on', `${address}.none`), {
      code: 1,
      stderr: /Neither Podman nor Docker reaches an engine at unix:/,
    });
    write('handler.py', 'print("there")\n');
    const { code, stderr } = await cli.run('deploy', './ocr', '--name', 'there', ...on);
    t.equal(code, 0, stderr);
    t.ok(stderr.includes(`is in podman at ${address} only.`), stderr);
    const made = (await endpoints()).find(({ name }) => name === 'there')!;
    const { imageName } = made.template!;
    t.match(
      await podman.cli('--url', address, 'image', 'inspect', '--format', '{{.Config.Cmd}}', imageName),
      'handler.py',
    );
    t.match(await cli.run('deploy', './ocr', ...push, ...on), { code: 0, stderr: /Pushed / });
    await call(core.clients.endpoints, 'deleteEndpoint', { id: made.id, stopWorkers: true }, core.key);
  });

  await t.test('a machine by its name: built there by SSH, and released when it reports the image', async (t) => {
    const named = commandLine(t, {
      ...variables,
      SLIPWAY_ROOT_KEY: core.rootKey,
      PATH: `${cli.cwd}/ssh:${env['PATH'] ?? ''}`,
      REAL_PATH: env['PATH'] ?? '',
      SOCKET: podman.socket,
    });
    mkdirSync(join(cli.cwd, 'ssh'));
    writeFileSync(join(cli.cwd, 'ssh', 'podman'), BY_SSH, { mode: 0o755 });
    mkdirSync(join(named.cwd, 'named'));
    writeFileSync(join(named.cwd, 'named', 'Containerfile'), `FROM ${BASE_IMAGE}\nLABEL folder=named\n`);
    const deploy = (...args: string[]) => named.run('deploy', './named', '--workers-max', '1', '--on', ...args);
    t.match(await cli.run('deploy', './ocr', '--on', 'gpu-1'), { code: 2, stderr: /for the operator/ });
    t.match(await deploy('gpu-1'), { code: 1, stderr: /gpu-1/ }, 'there is no such machine');
    const bare = await core.joinAgent({ engine: null, noEngineReason: 'not installed' });
    t.match(await deploy(bare.machineId), { code: 1, stderr: /has no container engine \(not installed\)/ });
    const sizes = { imageTotalMib: 0, imageFreeMib: 0 };
    const engine = { name: 'podman', version: '5', gpuHandover: GpuHandover.UNSPECIFIED, limits: [], ...sizes };
    const docker = await core.joinAgent({ engine: { ...engine, name: 'docker' } });
    t.match(await deploy(docker.machineId), { code: 1, stderr: /an engine at ssh:/ }, 'Podman is no Docker');
    const agent = await core.joinAgent({ engine });
    const released = deploy(agent.machineId);
    const image = await waitFor('the image', async () => {
      const text = await podman.cli('images', '--filter', 'label=folder=named', '--format', '{{.Repository}}:{{.Tag}}');
      return /^localhost\/named:[0-9a-f]{12}$/m.exec(text)?.[0];
    });
    const images = [{ name: image, digest: '', sizeBytes: 1 }];
    agent.send({ containers: MachineContainers.fromPartial({ engine, images }) });
    const { code, stderr } = await released;
    t.equal(code, 0, stderr);
    t.ok(stderr.includes(`is in podman at ssh://root@${agent.machineId}/run/podman/podman.sock only.`), stderr);
    t.notMatch(stderr, /does not report it yet/);
    const made = (await endpoints()).find(({ name }) => name === 'named')!;
    t.equal(made.template!.imageName, image);
    await call(core.clients.endpoints, 'deleteEndpoint', { id: made.id, stopWorkers: true }, core.key);
  });

  await t.test('a registry that rejects the login', async (t) => {
    writeFileSync(authFile, '{}');
    write('handler.py', 'print("third")\n');
    const { code, stderr } = await cli.run('deploy', './ocr', ...push, ...settings);
    t.equal(code, 1);
    t.match(stderr, /podman failed, pushing /);
    t.match((await endpoints()).map(({ version }) => version).toSorted(), [0, 1, 2], 'nothing was released');
  });

  await t.test('two folders of the same name at once: each endpoint gets its own image', async (t) => {
    const path = env['PATH'] ?? '';
    const both = commandLine(t, {
      ...variables,
      PATH: `${cli.cwd}/bin:${path}`,
      REAL_PATH: path,
      ENDED: `${cli.cwd}/ended`,
    });
    for (const made of ['bin', 'ended']) mkdirSync(join(cli.cwd, made));
    writeFileSync(join(cli.cwd, 'bin', 'podman'), BOTH_BUILT, { mode: 0o755 });
    const names = ['one', 'two'];
    for (const name of names) {
      mkdirSync(join(both.cwd, name, 'ocr'), { recursive: true });
      writeFileSync(join(both.cwd, name, 'ocr', 'Containerfile'), `FROM ${BASE_IMAGE}\nLABEL folder=${name}\n`);
    }
    const runs = names.map((name) => both.run('deploy', `./${name}/ocr`, '--name', name, ...settings));
    for (const { code, stderr } of await Promise.all(runs)) t.equal(code, 0, stderr);
    for (const made of (await endpoints()).filter(({ name }) => names.includes(name))) {
      const { imageName } = made.template!;
      const label = await podman.cli('image', 'inspect', '--format', '{{index .Labels "folder"}}', imageName);
      t.equal(label.trim(), made.name);
    }
  });
});
