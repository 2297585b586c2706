/**
 * Certificate files replaced while channels are open: the next handshake uses the new ones, and a broken one never
 * replaces a good one.
 */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { Client, Server, ServerCredentials } from '@grpc/grpc-js';
import { systemTransport } from '@slipway/kit/net/channel';
import { TlsSource } from '@slipway/kit/net/tls-source';
import type { Test } from 'tap';
import t from 'tap';
import { makeCertificates } from '../../helpers/system/edge.ts';

const asItIs = (bytes: Buffer): Buffer => bytes;
const ECHO = '/test.Echo/Echo';
const SERVICE: ServiceDefinition = {
  echo: {
    path: ECHO,
    requestStream: false,
    responseStream: false,
    requestSerialize: asItIs,
    requestDeserialize: asItIs,
    responseSerialize: asItIs,
    responseDeserialize: asItIs,
  },
};

t.test('renewed while a channel is open', async (t) => {
  const { file, issue, authority } = await makeCertificates(t);
  authority('second');
  issue('server-1', 'IP:127.0.0.1');
  issue('server-2', 'IP:127.0.0.1', { ca: 'second' });
  issue('client-1', 'DNS:client');
  issue('client-2', 'DNS:client', { ca: 'second' });
  const used = { caFile: file('used-ca.pem'), certFile: file('used.pem'), certKeyFile: file('used.key') };
  const install = (ca: string, client: string): void => {
    copyFileSync(file(`${ca}.pem`), used.caFile);
    copyFileSync(file(`${client}.pem`), used.certFile);
    copyFileSync(file(`${client}.key`), used.certKeyFile);
  };
  install('ca', 'client-1');
  const first = await serve(t, file, 'ca', 'server-1', 0);
  const tls = new TlsSource(used);
  const client = systemTransport.openClient(Client, `grpcs://127.0.0.1:${first.port}`, { tls });
  t.teardown(() => client.close());
  await echo(client);
  t.match(tls.check(), { version: 1, fault: undefined });
  const endsMs = tls.check().validity['client']!.toMs;

  first.server.forceShutdown();
  install('second', 'client-2');
  const second = await serve(t, file, 'second', 'server-2', first.port);
  await echo(client);
  t.match(tls.check(), { version: 2, fault: undefined }, 'both the authority and the certificate are new');
  t.ok(tls.check().validity['client']!.toMs >= endsMs);

  second.server.forceShutdown();
  for (const [name, content, fault] of [
    ['certKeyFile', readFileSync(file('client-1.key')), /used\.key does not hold the private key of .*used\.pem/],
    ['certFile', Buffer.from(''), /holds no certificate/],
    ['caFile', Buffer.from('junk'), /used-ca\.pem holds no certificate/],
  ] as const) {
    install('second', 'client-2');
    writeFileSync(used[name], content);
    const { server } = await serve(t, file, 'second', 'server-2', first.port);
    await echo(client);
    t.match(tls.check(), { version: 2, fault });
    t.match(tls.material(), { cert: readFileSync(file('client-2.pem')) });
    server.forceShutdown();
  }
  install('second', 'client-2');
  t.match(tls.check(), { version: 2, fault: undefined }, 'the good ones again');
});

/** Listens with a pair, and takes only clients of the same authority. */
async function serve(t: Test, file: (name: string) => string, ca: string, pair: string, port: number) {
  const server = new Server();
  server.addService(SERVICE, {
    echo: (call: { request: Buffer }, done: (error: null, answer: Buffer) => void) => done(null, call.request),
  });
  const credentials = ServerCredentials.createSsl(
    readFileSync(file(`${ca}.pem`)),
    [{ cert_chain: readFileSync(file(`${pair}.pem`)), private_key: readFileSync(file(`${pair}.key`)) }],
    true,
  );
  t.teardown(() => server.forceShutdown());
  return {
    server,
    port: await new Promise<number>((resolve, reject) => {
      server.bindAsync(`127.0.0.1:${port}`, credentials, (error, bound) => (error ? reject(error) : resolve(bound)));
    }),
  };
}

/** Resolves when a call was answered. Waits while there is no server. */
function echo(client: Client): Promise<void> {
  return new Promise((resolve, reject) => {
    client.waitForReady(Date.now() + 60_000, (late) => {
      if (late) return reject(late);
      client.makeUnaryRequest(ECHO, asItIs, asItIs, Buffer.from('x'), (error) => {
        if (!error) resolve();
        // The end of the previous connection may not have been noticed yet.
        else setImmediate(() => echo(client).then(resolve, reject));
      });
    });
  });
}
