/** JoinService: decode, call a use case, encode. */
import type { Logger } from '@slipway/kit/log/logger';
import type { JoinServiceServer, JoinToken as JoinTokenMessage } from '@slipway/proto/gen/slipway/v1/join_service';
import type { Access } from '../../access/access.ts';
import type { JoinToken } from '../../domain/machines/join-token.ts';
import { TTL_SECONDS, USES } from '../../domain/machines/join-token.ts';
import type { Joining } from '../../joining/join-machine.ts';
import type { JoinTokenContext } from '../../joining/join-tokens.ts';
import { createJoinToken, listJoinTokens, revokeJoinToken } from '../../joining/join-tokens.ts';
import type { RotationContext } from '../../joining/rotate-authority.ts';
import { changeAuthority, readAuthorities } from '../../joining/rotate-authority.ts';
import type { SecretKeyContext } from '../../joining/rotate-secret-key.ts';
import { readSecretKeys, rotateSecretKey } from '../../joining/rotate-secret-key.ts';
import type { ReplicaRegistry } from '../../reports/replica-registry.ts';
import { agentUnary, unary } from '../server/unary.ts';

interface JoinHandlersOptions {
  access: Access;
  joining: Joining;
  tokens: JoinTokenContext;
  rotation: RotationContext;
  secretKeys: SecretKeyContext;
  replicas: Pick<ReplicaRegistry, 'addresses' | 'ownAddress'>;
  logger: Logger;
}

/** Returns the handlers of the service. */
export function joinHandlers({
  access,
  joining,
  tokens,
  rotation,
  secretKeys,
  replicas,
  logger,
}: JoinHandlersOptions): JoinServiceServer {
  return {
    createJoinToken: unary(logger, async ({ pool, locations, usesMax, ttlSeconds }, apiKey) => {
      const made = await createJoinToken(tokens, await access.caller(apiKey), {
        pool,
        locations,
        usesMax: usesMax ?? USES.fallback,
        ttlSeconds: ttlSeconds ?? TTL_SECONDS.fallback,
      });
      return { ...made, token: toMessage(made.token) };
    }),
    listJoinTokens: unary(logger, async (_request, apiKey) => {
      const listed = await listJoinTokens(tokens, await access.caller(apiKey));
      return { tokens: listed.map(toMessage) };
    }),
    revokeJoinToken: unary(logger, async ({ id }, apiKey) => {
      await revokeJoinToken(tokens, await access.caller(apiKey), id);
      return {};
    }),
    joinMachine: unary(logger, async (request) => joining.join(request)),
    renewCertificate: agentUnary(logger, (_request, { certificate }) => joining.renew(certificate)),
    listReplicas: unary(logger, async () => ({
      addresses: [...replicas.addresses],
      ownAddress: replicas.ownAddress,
    })),
    listAuthorities: unary(logger, async () => ({ authorities: rotation.certificates.all })),
    readAuthorities: unary(logger, async (_request, apiKey) => ({
      state: await readAuthorities(rotation, await access.caller(apiKey)),
    })),
    changeAuthority: unary(logger, async (request, apiKey) => ({
      state: await changeAuthority(rotation, await access.caller(apiKey), request),
    })),
    readSecretKeys: unary(logger, async (_request, apiKey) => ({
      state: await readSecretKeys(secretKeys, await access.caller(apiKey)),
    })),
    rotateSecretKey: unary(logger, async (_request, apiKey) => ({
      state: await rotateSecretKey(secretKeys, await access.caller(apiKey)),
    })),
  };
}

function toMessage({ createdAt, expiresAt, revokedAt, ...token }: JoinToken): JoinTokenMessage {
  return { ...token, createTime: createdAt, expireTime: expiresAt, revokeTime: revokedAt ?? undefined };
}
