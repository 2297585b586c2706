/** AccessService: decode, call a use case, encode. */

import type { Logger } from '@slipway/kit/log/logger';
import type { Random } from '@slipway/kit/time/clock';
import type {
  AccessServiceServer,
  Account as AccountMessage,
  Quota as QuotaMessage,
} from '@slipway/proto/gen/slipway/v1/access_service';
import type { Access } from '../../access/access.ts';
import { createAccount, getAccount, listAccounts, setQuota, updateAccount } from '../../access/accounts.ts';
import type { Quota } from '../../domain/accounts/quota.ts';
import { CORE_VERSION } from '../../reports/core-version.ts';
import type { Account } from '../../store/accounts/account-store.ts';
import type { Stores } from '../../store/storage.ts';
import { namedAccount, ownAccount } from '../server/own-account.ts';
import { pageRequestOf, tokenOf } from '../server/paging.ts';
import { unary } from '../server/unary.ts';
import type { AccessChecks } from './access-checks.ts';

interface AccessHandlersOptions {
  access: Access;
  accounts: Stores['accounts'];
  checks: AccessChecks;
  random: Random;
  logger: Logger;
}

/** Returns the handlers of the service. */
export function accessHandlers({
  access,
  accounts,
  checks,
  random,
  logger,
}: AccessHandlersOptions): AccessServiceServer {
  return {
    createAccount: unary(logger, async ({ name }, apiKey) => {
      return { accountId: await createAccount(accounts, random, await access.caller(apiKey), name) };
    }),
    listAccounts: unary(logger, async (request, apiKey) => {
      const { pageSize, pageToken = '', view } = request;
      const page = pageSize === undefined && pageToken === '' && !view ? undefined : pageRequestOf(request, 'name');
      const { entries, next } = await listAccounts(accounts, await access.caller(apiKey), page);
      return { accounts: entries.map(accountToMessage), nextPageToken: tokenOf(next, page) };
    }),
    setQuota: unary(logger, async ({ accountId, quota }, apiKey) => {
      const changed = await setQuota(accounts, await access.caller(apiKey), accountId, quotaFromMessage(quota ?? {}));
      return { account: accountToMessage(changed) };
    }),
    getAccount: unary(logger, async (request, apiKey) => {
      const { accountId } = await (request.accountId
        ? namedAccount(access, apiKey, request.accountId)
        : ownAccount(access, apiKey, false));
      return { account: accountToMessage(await getAccount(accounts, accountId)), coreVersion: CORE_VERSION };
    }),
    updateAccount: unary(logger, async ({ publicKey }, apiKey) => {
      const { caller } = await ownAccount(access, apiKey, true);
      return { account: accountToMessage(await updateAccount(accounts, caller, publicKey)) };
    }),
    checkAccess: unary(logger, (request, apiKey) => checks.check(request, apiKey)),
  };
}

function accountToMessage({
  id,
  name,
  publicKey,
  createdAt,
  workerQuota,
  gpuQuota,
  queuedJobQuota,
  requestQuota,
  gpuWeight,
}: Account): AccountMessage {
  const quota = {
    workers: workerQuota ?? undefined,
    gpus: gpuQuota ?? undefined,
    queuedJobs: queuedJobQuota ?? undefined,
    requests: requestQuota ?? undefined,
    gpuWeight: gpuWeight === 1 ? undefined : gpuWeight,
  };
  return { id, name, publicKey, createTime: createdAt, quota };
}

function quotaFromMessage({ workers, gpus, queuedJobs, requests, gpuWeight }: QuotaMessage): Quota {
  return {
    workers: workers ?? null,
    gpus: gpus ?? null,
    queuedJobs: queuedJobs ?? null,
    requests: requests ?? null,
    gpuWeight: gpuWeight ?? null,
  };
}
