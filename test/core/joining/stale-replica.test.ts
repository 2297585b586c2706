// test: postgres
/** A replica that has not read of an exchange of the authority yet signs nothing with one that is no more. */
import { randomBytes, X509Certificate } from 'node:crypto';
import { systemTransport } from '@slipway/kit/net/channel';
import { TlsSource } from '@slipway/kit/net/tls-source';
import { newPrivateKey, signingRequest } from '@slipway/kit/tls/authority';
import { readJoinToken } from '@slipway/kit/tls/join-token';
import { AuthorityChange, CreateJoinTokenRequest, JoinServiceClient } from '@slipway/proto/gen/slipway/v1/join_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';

t.setTimeout(600_000);

t.test('a machine joins at a replica that lags behind', async (t) => {
  const env = {
    SLIPWAY_CORE_LISTEN: '127.0.0.1:0,grpcs://127.0.0.1:0',
    SLIPWAY_SECRET_KEY: randomBytes(32).toString('hex'),
  };
  const ahead = await startReplicas(t, 1, env);
  const behind = await startReplicas(t, 1, env, { url: ahead.url });
  const { rootKey } = ahead;
  const operator = systemTransport.openClient(JoinServiceClient, ahead.replicas[0]!.address);
  const { text } = await call(operator, 'createJoinToken', CreateJoinTokenRequest.fromPartial({ usesMax: 2 }), rootKey);
  const caDigests = [readJoinToken(text)!.authority!];
  const tls = new TlsSource({ caFile: '', certFile: '', certKeyFile: '', caDigests });
  const client = systemTransport.openClient(JoinServiceClient, behind.replicas[0]!.secureAddress, { tls });
  t.teardown(() => [operator, client].forEach((each) => each.close()));
  const change = async (step: AuthorityChange, force = false) =>
    (await call(operator, 'changeAuthority', { change: step, force }, rootKey)).state!;
  const join = async (machineId: string) => {
    const request = {
      token: text,
      machineId,
      name: machineId,
      signingRequest: signingRequest(newPrivateKey(), machineId),
    };
    const { certificate, authority } = await call(client, 'joinMachine', request, '');
    return { certificate: new X509Certificate(certificate!.certificate), authority };
  };

  await change(AuthorityChange.ROTATE);
  await ahead.sql`UPDATE installation SET next_authority_at = now() - interval '2 min'`;
  const { authorities } = await change(AuthorityChange.USE);
  const [current] = authorities;
  const joined = await join('lagging00001');
  t.ok(
    joined.certificate.verify(new X509Certificate(current!.certificate).publicKey),
    'signed by the one that is used',
  );
  t.ok(joined.authority.includes(current!.certificate.trim()), 'and the machine trusts it');
  t.match(
    await change(AuthorityChange.WITHDRAW),
    { authorities: [{ digest: current!.digest }] },
    'nobody is left behind',
  );
});
