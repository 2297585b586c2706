/** AccessService: decode, call a use case, encode. */
import { Api } from '../../proto/gen/slipway/v1/access_service.ts';
import type { AccessServiceServer, Account as AccountMessage } from '../../proto/gen/slipway/v1/access_service.ts';
import { EndpointType } from '../../proto/gen/slipway/v1/endpoint.ts';
import type { Access } from '../access/access.ts';
import { getAccount, updateAccount } from '../access/account.ts';
import { createAccount } from '../access/create-account.ts';
import type { StartedWorkers } from '../access/started-workers.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Account, AccountStore } from '../store/account-store.ts';
import { endpointTypeToMessage } from './endpoint-messages.ts';
import { ownAccount } from './own-account.ts';
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
      return { accountId: await createAccount(accounts, await access.caller(apiKey), name) };
    }),
    getAccount: unary(logger, async (_request, apiKey) => {
      const { caller } = await ownAccount(access, apiKey, false);
      return { account: accountToMessage(await getAccount(accounts, caller)) };
    }),
    updateAccount: unary(logger, async ({ publicKey }, apiKey) => {
      const { caller } = await ownAccount(access, apiKey, true);
      return { account: accountToMessage(await updateAccount(accounts, caller, publicKey)) };
    }),
    checkAccess: unary(logger, async ({ endpointId, write, api }, apiKey) => {
      const asked = { api: api === Api.JOBS ? 'JOBS' : 'MANAGEMENT', write } as const;
      const wish = endpointId === '' ? asked : { ...asked, endpointId };
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

function accountToMessage({ id, name, publicKey, createdAt }: Account): AccountMessage {
  return { id, name, publicKey, createTime: createdAt };
}
