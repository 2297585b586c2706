/** A facade that serves TLS itself. */
import { once } from 'node:events';
import { copyFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect } from 'node:tls';
import { TrustedPeers } from '@slipway/facades/activator/trusted-peers';
import { buildFacade } from '@slipway/facades/app';
import { readFacadeConfig } from '@slipway/facades/config';
import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';
import { makeCertificates } from '../helpers/system/edge.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

t.test('HTTPS, whose certificate is replaced while it serves', async (t) => {
  const { file, issue, read } = await makeCertificates(t);
  issue('next', 'DNS:localhost,IP:127.0.0.1');
  const [certFile, keyFile] = [file('live/server.pem'), file('live/server.key')];
  const env = {
    SLIPWAY_CORE_ADDRESS: '127.0.0.1:1',
    SLIPWAY_HTTP_PORT: '0',
    SLIPWAY_GRAPHQL_AT_START: 'false',
    SLIPWAY_HTTP_CERT_FILE: certFile,
    SLIPWAY_HTTP_CERT_KEY_FILE: keyFile,
  };
  t.throws(() => readFacadeConfig({ ...env, SLIPWAY_HTTP_CERT_KEY_FILE: '' }), /belong together/);
  t.throws(
    () => readFacadeConfig({ ...env, SLIPWAY_HTTP_CERT_KEY_FILE: file('next.key') }),
    /does not hold the private/,
  );
  const facade = buildFacade(readFacadeConfig(env), { logger: createLogger('test', 'silent') });
  t.teardown(() => facade.stop());
  const { url } = await facade.start();
  t.match(url, /^https:/);
  const { port } = new URL(url);
  const ca = read('ca.pem');
  const asked = request({ host: '127.0.0.1', port, path: '/healthz', ca }).end();
  const [answer] = (await once(asked, 'response')) as [{ statusCode: number; resume(): void }];
  t.equal(answer.statusCode, 200);
  answer.resume();

  const open = connect({ host: '127.0.0.1', port: Number(port), ca });
  await once(open, 'secureConnect');
  const serialOf = async (): Promise<string> => {
    const socket = connect({ host: '127.0.0.1', port: Number(port), ca });
    await once(socket, 'secureConnect');
    const { serialNumber } = socket.getPeerX509Certificate()!;
    socket.destroy();
    return serialNumber;
  };
  const first = await serialOf();
  writeFileSync(keyFile, 'half of it');
  copyFileSync(file('next.pem'), certFile);
  t.equal(await serialOf(), first, 'half a pair is not taken');
  copyFileSync(file('next.key'), keyFile);
  await waitFor('the new certificate', async () => (await serialOf()) !== first);
  open.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  const [text] = (await once(open, 'data')) as [Buffer];
  t.match(text.toString(), /^HTTP\/1\.1 200/, 'an open connection goes on');
  open.destroy();
});

t.test('a client that sends all before it reads gets the answer by TLS', async (t) => {
  const { file, read } = await makeCertificates(t);
  const config = readFacadeConfig({
    SLIPWAY_CORE_ADDRESS: '127.0.0.1:1',
    SLIPWAY_HTTP_PORT: '0',
    SLIPWAY_GRAPHQL_AT_START: 'false',
    SLIPWAY_HTTP_CERT_FILE: file('live/server.pem'),
    SLIPWAY_HTTP_CERT_KEY_FILE: file('live/server.key'),
  });
  const facade = buildFacade(config, { logger: createLogger('test', 'silent') });
  t.teardown(() => facade.stop());
  const { port } = new URL((await facade.start()).url);
  const client = connect({ host: '127.0.0.1', port: Number(port), ca: read('ca.pem') });
  await once(client, 'secureConnect');
  const piece = Buffer.alloc(64 * 1024, 'x');
  const pieces = 128;
  client.write(`POST /v1/pods HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: ${pieces * piece.length}\r\n\r\n`);
  for (let n = 0; n < pieces; n += 1) if (!client.write(piece)) await once(client, 'drain');
  let text = '';
  client.on('data', (part: Buffer) => {
    text += part.toString();
  });
  await once(client, 'end');
  t.match(text, /^HTTP\/1\.1 400 [^]*names its host more than once/);
});

t.test('workers see that the client used TLS', async (t) => {
  const headers = (encrypted: boolean, proto?: string): unknown => {
    const request = {
      headers: { ...(proto !== undefined && { 'x-forwarded-proto': proto }) } as Record<string, string>,
      socket: { remoteAddress: '192.0.2.1', encrypted },
    };
    new TrustedPeers([], []).clean(request as unknown as Parameters<TrustedPeers['clean']>[0]);
    return request.headers['x-forwarded-proto'];
  };
  t.equal(headers(true), 'https');
  t.equal(headers(true, 'http'), 'https', 'whatever the client says');
  t.equal(headers(false, 'https'), undefined);
});
