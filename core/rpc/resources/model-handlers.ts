/** ModelService: decode, call the directory, encode. */
import type { Logger } from '@slipway/kit/log/logger';
import type { Model, ModelServiceServer } from '@slipway/proto/gen/slipway/v1/model_service';
import { ModelState as ModelStateMessage } from '@slipway/proto/gen/slipway/v1/model_service';
import type { Access } from '../../access/access.ts';
import type { Caller } from '../../domain/accounts/permission.ts';
import { unauthorized } from '../../domain/accounts/permission.ts';
import type { ModelDirectory, ModelListing } from '../../endpoints/model-directory.ts';
import { unary } from '../server/unary.ts';
import { endpointTypeToMessage } from './endpoint-messages.ts';

/** Milliseconds for which a facade may reuse the endpoints of a model. */
const VALID_MS = 1_000;

/** Returns the handlers of the service. */
export function modelHandlers(access: Access, directory: ModelDirectory, logger: Logger): ModelServiceServer {
  /** Returns the caller. Throws UNAUTHORIZED for the operator's key, which has no account and so no models. */
  const callerOf = async (apiKey: string): Promise<Caller> => {
    const { caller } = await access.check(apiKey, { api: 'JOBS' });
    if (caller.accountId === '') throw unauthorized();
    return caller;
  };
  return {
    resolveModel: unary(logger, async ({ model }, apiKey) => {
      const targets = await directory.resolve(await callerOf(apiKey), model);
      return {
        targets: targets.map(({ candidate: { id, type }, share, workerModel }) => ({
          endpointId: id,
          type: endpointTypeToMessage(type),
          share,
          workerModel,
        })),
        validMs: VALID_MS,
      };
    }),
    listModels: unary(logger, async ({ model }, apiKey) => ({
      models: (await directory.list(await callerOf(apiKey), model)).map(modelToMessage),
    })),
  };
}

function modelToMessage({ name, state, endpoints }: ModelListing): Model {
  return {
    name,
    state: ModelStateMessage[state],
    createTime: endpoints[0]?.candidate.createdAt,
    endpoints: endpoints.map(({ candidate, state: each, waiting }) => ({
      id: candidate.id,
      name: candidate.name,
      type: endpointTypeToMessage(candidate.type),
      state: ModelStateMessage[each],
      waiting,
    })),
  };
}
