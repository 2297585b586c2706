/** `slipway env`: shells get what clients need, and a key is shown only for the address that it belongs to. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLIENT_GUIDES } from '@slipway/cli/clients/client-variables';
import t from 'tap';
import { commandLine } from './command-line.ts';

const LOCAL =
  "SLIPWAY_URL='http://127.0.0.1:8080'\nSLIPWAY_API_KEY='rpa_local'\nSLIPWAY_CORE_ADDRESS='127.0.0.1:4711'\n";

/** Returns the variables that a shell has after it took the output. */
function taken(output: string): Record<string, string> {
  const text = execFileSync('/bin/sh', ['-c', 'eval "$1"; env', 'sh', output], { encoding: 'utf8', env: {} });
  const lines = text.split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]);
  return Object.fromEntries(lines.filter(([name]) => /^(RUNPOD|OPENAI)_/.test(name!)));
}

t.test('each client gets its own variables', async (t) => {
  const cli = commandLine(t, { SLIPWAY_URL: 'https://gpu.example/', SLIPWAY_API_KEY: "rpa_k$'x" });
  const of = async (client: string) => taken((await cli.run('env', '--for', client)).stdout);
  const key = "rpa_k$'x";
  t.same(await of('python'), {
    RUNPOD_API_KEY: key,
    RUNPOD_API_BASE_URL: 'https://gpu.example',
    RUNPOD_ENDPOINT_BASE_URL: 'https://gpu.example/v2',
  });
  t.same(await of('ctl'), {
    RUNPOD_API_KEY: key,
    RUNPOD_API_URL: 'https://gpu.example/v1',
    RUNPOD_GRAPHQL_URL: 'https://gpu.example/graphql',
    RUNPOD_REST_V2_URL: 'https://gpu.example/v2',
    RUNPOD_INVOKE_URL: 'https://gpu.example/v2',
  });
  t.match(await of('mcp'), { RUNPOD_API_BASE_URL: 'https://gpu.example', RUNPOD_API_KEY: key });
  t.same(await of('terraform'), {
    RUNPOD_API_KEY: key,
    RUNPOD_BASE_URL: 'https://gpu.example/v2',
    RUNPOD_GRAPHQL_URL: 'https://gpu.example/graphql',
  });
  t.same(await of('openai'), { OPENAI_API_KEY: key, OPENAI_BASE_URL: 'https://gpu.example/openai/v1' });
  t.same(await of('dstack'), {});
  t.match(await cli.run('env', '--for', 'dstack'), { code: 0, stdout: /api\.runpod\.io[^]*gpu\.example/ });
  const all = await cli.json<{ name: string; variables: object }[]>('env');
  t.same(
    all.map(({ name }) => name),
    Object.keys(CLIENT_GUIDES),
  );
  const together = taken((await cli.run('env')).stdout);
  for (const { name, variables } of all) t.match(together, variables, `all at once do not hurt ${name}`);
});

t.test('beside npm start no options are needed, and its key is sent to its address only', async (t) => {
  const cli = commandLine(t, {});
  mkdirSync(join(cli.cwd, '.slipway'));
  writeFileSync(join(cli.cwd, '.slipway', 'local.env'), LOCAL);
  t.same(taken((await cli.run('env', '--for', 'openai')).stdout), {
    OPENAI_API_KEY: 'rpa_local',
    OPENAI_BASE_URL: 'http://127.0.0.1:8080/openai/v1',
  });
  const other = await cli.run('env', '--for', 'openai', '--url', 'https://gpu.example');
  t.match(other, { code: 0, stderr: /no API key for this address/ });
  t.same(taken(other.stdout), { OPENAI_BASE_URL: 'https://gpu.example/openai/v1' });
  const named = await cli.run('env', '--for', 'openai', '--url', 'https://gpu.example', '--key', 'rpa_mine');
  t.match(taken(named.stdout), { OPENAI_API_KEY: 'rpa_mine' });
});

t.test('a missing or malformed address is reported', async (t) => {
  const cli = commandLine(t, { SLIPWAY_API_KEY: 'rpa_k', SLIPWAY_CORE_ADDRESS: '127.0.0.1:1' });
  t.match(await cli.run('env'), { code: 2, stdout: '', stderr: /--url or SLIPWAY_URL/ });
  for (const url of ['gpu.example', 'ftp://gpu.example', 'https://gpu.example/v2', 'https://u:p@gpu.example'])
    t.match(
      await cli.run('env', '--url', url),
      { code: 2, stdout: '', stderr: /must be http:\/\/ or https:\/\// },
      url,
    );
  t.match(await cli.run('env', '--for', 'vllm', '--url', 'http://a'), { code: 2, stderr: /choices|python/ });
});
