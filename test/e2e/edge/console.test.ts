// test: postgres, envoy
/**
 * The console's requests through the real Envoy with TLS, which keeps headers of our own parts to itself: signing in, a
 * change, a request that is tried.
 */

import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import t from 'tap';
import { makeCertificates, skipWithoutEnvoy, startEdge } from '../../helpers/system/edge.ts';
import { lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const KEY = { SLIPWAY_EDGE_KEY: 'edge-key-of-this-test-0123456789' };

t.setTimeout(600_000);
t.test('the console behind the edge', { skip: skipWithoutEnvoy() }, async (t) => {
  const system = await startSystem(t, {
    coreEnv: KEY,
    facadeEnv: { ...KEY, SLIPWAY_TRUSTED_PROXIES: '', SLIPWAY_LB_HOLD_MS: '600000' },
  });
  const certificates = await makeCertificates(t);
  const behind = { SLIPWAY_EDGE_FACADES: new URL(system.url).host, SLIPWAY_CORE_ADDRESS: system.cores[0]!.address };
  const edge = await startEdge(t, { ...behind, ...KEY, ...certificates.env });
  await waitFor('a warning that Envoy ends requests first', () =>
    edge.log().includes('the edge ends requests before facades do'),
  );
  const [host, port] = edge.addresses['public']!.split(':') as [string, string];
  const tls = { host, port: Number(port), ca: certificates.read('ca.pem'), servername: 'localhost' };
  const send = (
    method: string,
    path: string,
    headers: OutgoingHttpHeaders,
    body?: string,
  ): Promise<IncomingMessage & { text: string }> =>
    new Promise((resolve, reject) => {
      const own = {
        host: `localhost:${port}`,
        origin: `https://localhost:${port}`,
        'sec-fetch-site': 'same-origin',
        'x-console-page': '1',
      };
      const length = { 'content-length': Buffer.byteLength(body ?? '') };
      const asking = httpsRequest(
        { ...tls, path: `/console${path}`, method, headers: { ...own, ...length, ...headers } },
        async (answer) => {
          resolve(
            Object.assign(answer, {
              text: Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>)).toString(),
            }),
          );
        },
      );
      asking.once('error', reject).end(body);
    });
  const json = { 'content-type': 'application/json' };
  const session = await send('POST', '/session', json, JSON.stringify({ key: system.key }));
  t.equal(session.statusCode, 200, session.text);
  const [set] = session.headers['set-cookie']!;
  t.match(set, /; Secure$/, 'by TLS');
  const cookie = set!.split(';')[0]!;

  const made = await send(
    'POST',
    '/api/v1/networkvolumes',
    { ...json, cookie },
    JSON.stringify({ name: 'v', size: 1, dataCenterId: 'X-1' }),
  );
  t.not(made.statusCode, 401, made.text);
  t.not(made.statusCode, 403, made.text);

  const id = await lbEndpoint(system);
  const asked = encodeURIComponent(JSON.stringify({ method: 'POST', path: '/predict', headers: [['X-Mine', 'yes']] }));
  const tried = await send('POST', `/api/lb/${id}`, { cookie, 'x-console-request': asked }, 'hello');
  t.equal(tried.headers['content-type'], 'application/octet-stream', tried.text);
  const [head, body] = tried.text.split('\n');
  t.match(JSON.parse(head!), { status: 200 });
  const seen = JSON.parse(body!) as { method: string; url: string; bytes: number; headers: string[] };
  t.match(seen, { method: 'POST', url: '/predict', bytes: 5 });
  t.notMatch(seen.headers.join('\n'), /slipway|cookie|authorization|sec-fetch|x-console/i);
  t.match(seen.headers.join('\n'), /x-mine\nyes/i);
  t.equal(
    (await send('POST', `/api/lb/${id}`, { cookie, 'x-console-request': asked, 'sec-fetch-site': 'same-site' }))
      .statusCode,
    403,
  );
});
