// test: postgres, 10 s
/**
 * The key of an agent with a tunnel is replaced: another tunnel is opened with the new key, requests in the first one
 * end well, and the end of the old key cuts nothing.
 */
import { writeFileSync } from 'node:fs';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { cuttingProxy } from '../../helpers/net/cutting-proxy.ts';
import { scratch } from '../../helpers/scratch.ts';
import { lbClient, lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

t.test('a replaced key', async (t) => {
  const system = await startSystem(t, { agents: 0, tunnelAuthorizeMs: 200 });
  const { clients, rootKey, url } = system;
  const { hostname, port } = new URL(url);
  const proxy = await cuttingProxy(t, { host: hostname, port: Number(port) });
  const file = (await scratch(t)).path('agent.key');
  const makeKey = async (replacesKeyId?: string): Promise<{ id: string }> => {
    const fields = { name: 'rack', scope: KeyScope.AGENT, endpointIds: [], permissions: undefined, replacesKeyId };
    const { secret, key } = await call(clients.keys, 'createKey', { ...fields, accountId: '' }, rootKey);
    writeFileSync(file, secret);
    return { id: key!.id };
  };
  const old = await makeKey();
  const env = { SLIPWAY_AGENT_KEY: '', SLIPWAY_AGENT_KEY_FILE: file };
  await system.startAgent(undefined, { ...env, SLIPWAY_TUNNEL_ADDRESS: `http://127.0.0.1:${proxy.port}` });
  const { at, shown } = lbClient(system);
  const id = await lbEndpoint(system);
  t.match(await shown(at(id, '/first')), { url: '/first' });
  t.equal(proxy.open, 1);

  /** Sends a request whose body ends when `finish` is called. Returns the bytes that the worker got. */
  const begin = async (name: string) => {
    let controller!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given) });
    controller.enqueue(Buffer.from(name));
    const init = { method: 'POST', body, duplex: 'half' } as RequestInit;
    const answer = at(id, `/up?${name}`, init);
    const seen = async () => (await shown(at(id, '/seen'))).seen.some((line) => line.includes(`/up?${name}`));
    await waitFor(`the worker to have ${name}`, seen);
    return async (): Promise<number> => {
      controller.close();
      const response = await answer;
      return response.status === 200 ? ((await response.json()) as { bytes: number }).bytes : response.status;
    };
  };

  const finishBefore = await begin('before');
  await makeKey(old.id);
  await waitFor('another tunnel', () => proxy.open === 2);
  const finishAfter = await begin('after');
  t.equal(await finishBefore(), 'before'.length, 'a request in the first tunnel ended well');
  await waitFor('the first tunnel to end', () => proxy.open === 1);
  await call(clients.keys, 'revokeKey', { id: old.id }, rootKey);
  t.match(await shown(at(id, '/later')), { url: '/later' });
  t.equal(await finishAfter(), 'after'.length, 'and a request in the second one, though the old key has ended');
});
