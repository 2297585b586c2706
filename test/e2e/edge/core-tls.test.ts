// test: postgres, envoy
/** An edge that reaches core by TLS, and machines that join through it with a token. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@grpc/grpc-js';
import { askAdmin } from '@slipway/edge/admin';
import { readEdgeConfig } from '@slipway/edge/config';
import { coreAuthorities } from '@slipway/edge/core-authorities';
import type { ClientConstructor } from '@slipway/kit/net/channel';
import { systemTransport } from '@slipway/kit/net/channel';
import type { TlsFiles } from '@slipway/kit/net/tls';
import { TlsSource } from '@slipway/kit/net/tls-source';
import { systemClock } from '@slipway/kit/time/clock';
import { newPrivateKey, signingRequest } from '@slipway/kit/tls/authority';
import { readJoinToken } from '@slipway/kit/tls/join-token';
import { pinText } from '@slipway/kit/tls/pin';
import { AccessServiceClient } from '@slipway/proto/gen/slipway/v1/access_service';
import { CreateJoinTokenRequest, JoinServiceClient } from '@slipway/proto/gen/slipway/v1/join_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { scratch } from '../../helpers/scratch.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { skipWithoutEnvoy, startEdge } from '../../helpers/system/edge.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const NO_FILES: TlsFiles = { caFile: '', certFile: '', certKeyFile: '' };

t.test('core by TLS through the edge', { skip: skipWithoutEnvoy() }, async (t) => {
  const core = await startReplicas(t, 1, { SLIPWAY_CORE_LISTEN: '127.0.0.1:0,grpcs://127.0.0.1:0' });
  const { secureAddress, address } = core.replicas[0]!;
  const folder = await scratch(t);
  const opened: Client[] = [];
  t.teardown(() => {
    for (const each of opened) each.close();
  });
  const client = <Kind extends Client>(kind: ClientConstructor<Kind>, at: string, tls?: TlsSource): Kind => {
    const made = systemTransport.openClient(kind, at, { tls });
    opened.push(made);
    return made;
  };
  const newToken = () =>
    call(client(JoinServiceClient, address), 'createJoinToken', CreateJoinTokenRequest.fromPartial({}), core.rootKey);
  const digest = readJoinToken((await newToken()).text)!.authority!;
  const settings = { SLIPWAY_CORE_ADDRESS: secureAddress, SLIPWAY_CORE_CA: pinText(digest) };
  const edge = await startEdge(t, {
    ...settings,
    SLIPWAY_EDGE_FACADES: '127.0.0.1:1',
    SLIPWAY_EDGE_GRPC_LISTEN: '127.0.0.1:0',
    SLIPWAY_EDGE_JOIN_LISTEN: '127.0.0.1:0',
    SLIPWAY_EDGE_DRAIN_MS: '100',
  });

  await t.test('calls', async (t) => {
    const access = client(AccessServiceClient, edge.addresses['grpc']!);
    await waitFor('core to be found ready', () =>
      call(access, 'createAccount', { name: 'by-tls' }, core.rootKey).catch((error: Error) => {
        if (/UNAVAILABLE|no healthy upstream/.test(error.message)) return false;
        throw error;
      }),
    );
    t.pass('through Envoy');
  });

  await t.test('a core that may not be trusted', async (t) => {
    const read = (env: Record<string, string>) =>
      coreAuthorities({
        config: readEdgeConfig({ ...settings, ...env }),
        transport: async () => systemTransport,
        clock: systemClock,
      });
    t.match(await read({}), /BEGIN CERTIFICATE/);
    await t.rejects(
      read({ SLIPWAY_CORE_CA: pinText('0'.repeat(64)) }),
      /another installation, or an attacker in between/,
    );
    await t.rejects(read({ SLIPWAY_CORE_ADDRESS: address }), /does not speak TLS/, 'never in plain text');
    await t.rejects(read({ SLIPWAY_CORE_ADDRESS: '127.0.0.1:1' }), /no process listens there/);
    writeFileSync(folder.path('wrong.pem'), '-----BEGIN nothing');
    await t.rejects(read({ SLIPWAY_CORE_CA: folder.path('wrong.pem') }), /authority of core cannot be used/);
  });

  await t.test('a machine joins and holds its session', async (t) => {
    const at = `grpcs://${edge.addresses['join']}`;
    const key = newPrivateKey();
    const machineId = 'joinedbyedge';
    const request = { machineId, name: machineId, signingRequest: signingRequest(key, machineId) };
    const { text } = await newToken();
    const trusting = client(JoinServiceClient, at, new TlsSource({ ...NO_FILES, caDigests: [digest] }));
    const { certificate, authority } = await call(trusting, 'joinMachine', { ...request, token: text }, '');
    writeFileSync(folder.path('authority.pem'), authority);
    writeFileSync(folder.path('machine.pem'), certificate!.certificate);
    writeFileSync(folder.path('machine.key'), key);
    const tls = new TlsSource({
      caFile: folder.path('authority.pem'),
      certFile: folder.path('machine.pem'),
      certKeyFile: folder.path('machine.key'),
    });
    const agent = await core.joinAgent({ machineId, agentKey: '', tls }, { ...core.replicas[0]!, address: at });
    t.equal(agent.end, undefined, 'core knows it by its certificate');
    t.ok(await call(client(JoinServiceClient, at, tls), 'renewCertificate', {}, ''));
    const { text: hosts } = await askAdmin(join(edge.dataDir, 'admin-0.sock'), '/clusters');
    for (const name of ['core', 'core_agents', 'core_control', 'core_joined'])
      t.match(hosts, new RegExp(`^${name}::.*::health_flags::healthy$`, 'm'), 'health checks speak TLS');
  });
});
