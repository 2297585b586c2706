// test: postgres, envoy, 5 s
/**
 * An edge without an edge key, which is all that a queue needs: a client that sends a large body gets the answer that
 * was settled before the body had come, over HTTP/2 and over HTTP/1.1.
 */
import { execFile } from 'node:child_process';
import t from 'tap';
import { skipWithoutEnvoy, startEdge } from '../../helpers/system/edge.ts';
import { startSystem } from '../../helpers/system/system.ts';

const MIB = 1024 * 1024;

t.setTimeout(600_000);

t.test('through an edge without a key', { skip: skipWithoutEnvoy() }, async (t) => {
  const system = await startSystem(t, { agents: 0 });
  const edge = await startEdge(t, {
    SLIPWAY_EDGE_FACADES: new URL(system.url).host,
    SLIPWAY_EDGE_CORES: system.cores[0]!.address,
  });
  const queue = await system.createEndpoint({ command: ['true'], fields: { workersMin: 0 }, workersMax: 0 });
  const body = Buffer.from(`{"input":{"text":"${'x'.repeat(11 * MIB)}"}}`);
  const curl = (version: string, path: string, key: string): Promise<string> =>
    new Promise((resolve) => {
      const args = ['-sS', version, '--max-time', '60', '-H', 'expect:', '-H', `authorization: Bearer ${key}`];
      const url = `http://${edge.addresses['public']}${path}`;
      const more = ['--data-binary', '@-', '-w', ' %{http_code}', url];
      const child = execFile('curl', [...args, ...more], (_error, text, fault) => resolve(text + fault));
      child.stdin!.on('error', () => undefined).end(body);
    });
  for (const version of ['--http2-prior-knowledge', '--http1.1'])
    for (const [path, key, answer] of [
      [`/v2/${queue}/run`, system.key, /payload_too_large.* 400$/],
      [`/v2/${queue}/run`, 'rpa_unknown', /unauthorized.* 401$/],
      ['/v2/nosuchendpoint/run', system.key, /endpoint_not_found.* 404$/],
      ['/v1/templates', system.key, /payload_too_large.* 400$/],
    ] as const)
      t.match(await curl(version, path, key), answer, `${version} ${path}`);
});
