/** Rolls an endpoint back to a good version. */

import type { Actor } from '../domain/accounts/permission.ts';
import { endpointNotFound } from '../domain/accounts/permission.ts';
import type { Endpoint } from '../domain/resources/endpoint.ts';
import { versionToReturnTo } from '../domain/scaling/rollout.ts';
import { invalid } from '../domain/settings/fields.ts';
import type { EndpointContext } from './endpoint-context.ts';
import { getEndpoint } from './endpoints.ts';

/**
 * Rolls an endpoint back to a healthy version until the next release. `version`: `undefined` for the last healthy one
 * before the current. Settings of endpoint and template stay. INVALID_REQUEST: the version is not stored, or is the
 * current one.
 */
export async function rollBackEndpoint(
  context: Pick<EndpointContext, 'endpoints' | 'releases' | 'onChanged'>,
  actor: Actor,
  id: string,
  version: number | undefined,
): Promise<Endpoint> {
  const found = await context.releases.rollBack(id, actor, (current, rollout, kept) => {
    const answer = versionToReturnTo(current, rollout, kept, version);
    if (typeof answer === 'string') throw invalid(answer);
    return answer;
  });
  if (!found) throw endpointNotFound(id);
  context.onChanged([id]);
  return getEndpoint(context, actor.accountId, id);
}
