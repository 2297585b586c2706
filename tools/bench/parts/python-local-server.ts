/**
 * The Python SDK's own local server (`--rp_serve_api`) with the handler of the part `python`. Shows what a user would
 * measure without Slipway.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { PYTHONS } from '@slipway/test/helpers/system/handlers';
import { waitFor } from '@slipway/test/helpers/time/wait-for';
import type { LoadResult } from '../load/load-generator.ts';
import type { Bench } from '../stack/bench.ts';

const START_MS_MAX = 60_000;

/**
 * Runs one round, with as many connections as jobs that run at once in the other figure. The server has no queue, keeps
 * nothing and checks no key.
 */
export async function loadLocalServer(bench: Bench, concurrency: number): Promise<LoadResult> {
  bench.say(`the SDK's own local server, ${concurrency} connections`);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = [
    join(import.meta.dirname, '../workers/short_handler.py'),
    '--rp_serve_api',
    '--rp_api_host',
    '127.0.0.1',
    '--rp_api_port',
    String(port),
  ];
  const child = spawn(PYTHONS.new, args, {
    env: { ...process.env, CONCURRENCY: String(concurrency) },
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  try {
    await waitFor(
      "the SDK's own server",
      () =>
        fetch(url).then(
          () => true,
          () => false,
        ),
      START_MS_MAX,
    );
    const load = {
      url: `${url}/runsync`,
      headers: {},
      body: '{"input":{"a":1}}',
      expect: '"ok":true',
      connections: concurrency,
    };
    return await bench.load.ask<LoadResult>('run', { ...load, seconds: bench.options.seconds });
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
