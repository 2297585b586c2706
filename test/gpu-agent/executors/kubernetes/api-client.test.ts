/** Connections of the client of the Kubernetes API, at a real HTTPS server. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { ApiClient } from '@slipway/gpu-agent/executors/kubernetes/api-client';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { openFolder } from '../../../helpers/open-folder.ts';

t.test('streams resume the TLS session of a call: only the first connection has a full handshake', async (t) => {
  const folder = await openFolder(t);
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const made = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost';
  const name = ['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert];
  execFileSync('openssl', ['req', ...made.split(' '), ...name], { stdio: 'ignore' });
  const resumed: boolean[] = [];
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_, response) => {
    response.end('{}');
  });
  server.on('secureConnection', (socket: TLSSocket) => resumed.push(socket.isSessionReused()));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => server.close());
  const access = {
    server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: readFileSync(cert, 'utf8'),
    token: async () => undefined,
    namespace: 'default',
  };
  const api = new ApiClient(access, systemClock);
  t.teardown(() => api.close());
  await api.call('GET', '/version');
  for (const pod of ['a', 'b', 'c']) for await (const _ of await api.stream(`/log/${pod}`));
  t.strictSame(resumed, [false, true, true, true]);
});
