/** A server with TLS on the loopback address, and how a client of the Kubernetes API reaches it. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import type { Server } from 'node:https';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { ApiAccess } from '@slipway/gpu-agent/executors/kubernetes/api-access';
import type { Test } from 'tap';
import { openFolder } from '../open-folder.ts';

/** Starts a server, which ends with the test. */
export async function httpsServer(t: Test, onRequest: RequestListener): Promise<{ server: Server; access: ApiAccess }> {
  const folder = await openFolder(t);
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const made = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost';
  const name = ['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert];
  execFileSync('openssl', ['req', ...made.split(' '), ...name], { stdio: 'ignore' });
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, onRequest);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const access = {
    server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: readFileSync(cert, 'utf8'),
    token: async () => undefined,
    namespace: 'default',
  };
  return { server, access };
}
