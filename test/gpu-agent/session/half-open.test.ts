// test: postgres, 30 s
/**
 * A session that stops halfway: an agent that opens one and sends no hello, and a core that accepts a connection or a
 * hello and answers nothing. Either side ends it, and the agent gets a session.
 */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { callMetadata, openServer, systemTransport } from '@slipway/kit/net/channel';
import type { SessionRequest, SessionResponse } from '@slipway/proto/gen/slipway/v1/agent_service';
import { AgentServiceClient, AgentServiceService } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Test } from 'tap';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { startRealAgent } from '../../helpers/system/real-agent.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
const WAIT_MS_MAX = 120_000;

const core = await startReplicas(t);

t.test('core ends a session whose hello does not come', async (t) => {
  const client = systemTransport.openClient(AgentServiceClient, core.replicas[0]!.address);
  t.teardown(() => client.close());
  const stream = client.session(callMetadata(core.agentKey));
  const received: SessionResponse[] = [];
  stream.on('data', (message: SessionResponse) => received.push(message));
  await once(stream, 'end');
  t.match(received, [{ end: { text: 'the agent sent no hello' }, welcome: undefined }]);
});

/** Starts a core that reads hellos and answers none. */
async function startMuteCore(t: Test) {
  const hellos: SessionRequest[] = [];
  const left = { count: 0 };
  const session = (stream: ServerDuplexStream<SessionRequest, SessionResponse>): void => {
    stream.on('data', (message: SessionRequest) => hellos.push(message));
    stream.on('cancelled', () => {
      left.count += 1;
    });
  };
  const server = openServer([[AgentServiceService, { session } as never]]);
  const port = await systemTransport.listen(server, '127.0.0.1:0');
  t.teardown(() => server.forceShutdown());
  return { port, hellos, left };
}

/** Starts an address that leads new connections to a port. 0: they are accepted, and nothing is answered. */
async function startAddress(t: Test) {
  const target = { port: 0 };
  const open = new Set<Socket>();
  const server = createServer((near) => {
    open.add(near);
    near.on('error', () => undefined).on('close', () => open.delete(near));
    if (target.port === 0) return near.resume();
    const far = connect(target.port, '127.0.0.1');
    far.on('error', () => near.destroy()).on('close', () => near.destroy());
    near.on('close', () => far.destroy());
    near.pipe(far).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, target, open };
}

t.test('an agent leaves a core that does not answer, before and after its hello', async (t) => {
  const mute = await startMuteCore(t);
  const { address, target, open } = await startAddress(t);
  const { machineId } = await startRealAgent(t, core, { SLIPWAY_CORE_ADDRESS: address });
  await waitFor('connections', () => open.size > 0);
  const silent = [...open];
  target.port = mute.port;
  await waitFor('a hello that is not answered', () => mute.hellos.length > 0, WAIT_MS_MAX);
  t.match(mute.hellos[0], { hello: { machine: { id: machineId } } });
  target.port = Number(core.replicas[0]!.address.split(':')[1]);
  await waitFor('the agent to leave', () => mute.left.count > 0, WAIT_MS_MAX);
  const list = { pageSize: 0, pageToken: '' };
  await waitFor(
    'its session',
    async () => {
      const { machines } = await call(core.clients.machines, 'listMachines', list, core.rootKey);
      return machines.some(({ machine, connected }) => machine?.id === machineId && connected);
    },
    WAIT_MS_MAX,
  );
  await waitFor('its first connections to be closed', () => silent.every(({ destroyed }) => destroyed), WAIT_MS_MAX);
});
