/** AccessService: decode, call a use case, encode. */
import type { AccessServiceServer } from '../../proto/gen/slipway/v1/access_service.ts';
import { EndpointType } from '../../proto/gen/slipway/v1/endpoint.ts';
import type { Access } from '../access/access.ts';
import { createAccount } from '../access/create-account.ts';
import type { StartedWorkers } from '../access/started-workers.ts';
import { unauthorized } from '../domain/access.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { AccountStore } from '../store/account-store.ts';
import { endpointTypeToMessage } from './endpoint-messages.ts';
import { unary } from './unary.ts';

/** What the handlers need. */
export interface AccessHandlersOptions {
  access: Access;
  accounts: AccountStore;
  startedWorkers: StartedWorkers;
  clock: Clock;
  logger: Logger;
}

/** Handlers of the service. */
export function accessHandlers({ access, accounts, startedWorkers, clock, logger }: AccessHandlersOptions): AccessServiceServer {
  return {
    createAccount: unary(logger, async ({ name }, apiKey) => {
      const caller = await access.caller(apiKey);
      if (caller.scope !== 'ROOT') throw unauthorized();
      return { accountId: await createAccount(accounts, name) };
    }),
    checkAccess: unary(logger, async ({ endpointId, write }, apiKey) => {
      const wish = endpointId === '' ? { write } : { endpointId, write };
      const verdict = await access.check(apiKey, wish);
      const started = verdict.endpoint ? await startedWorkers.count(verdict.endpoint.id) : 0;
      return {
        accountId: verdict.accountId,
        keyId: verdict.keyId,
        endpointType: verdict.endpoint ? endpointTypeToMessage(verdict.endpoint.type) : EndpointType.UNSPECIFIED,
        workersRunning: started,
        validMs: Math.max(Math.floor(verdict.validUntilMs - clock.monotonicMs()), 0),
      };
    }),
  };
}
