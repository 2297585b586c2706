/**
 * Fields of the caller's account over AccessService. Money has no meaning on one's own machines, so those fields have
 * neutral values.
 */
import type { Account, GetAccountResponse } from '@slipway/proto/gen/slipway/v1/access_service';
import type { GraphqlContext, Resolver } from '../core-calls.ts';
import { callCore, once } from '../core-calls.ts';
import type { CoreMessage } from '../core-message.ts';
import { costPerHour } from '../pods/present-pod.ts';
import { listPodsAndWorkers } from '../pods/read-pods.ts';

const SERVICE = 'AccessService';

/** Returns the resolvers that need no call to core. */
function presentUser(accountId: string) {
  return {
    id: accountId,
    clientBalance: 0,
    spendLimit: null,
    notifyPodsStale: false,
    notifyPodsGeneral: false,
    notifyLowBalance: false,
    serverlessDiscount: null,
  };
}

function readAccount(context: GraphqlContext): Promise<CoreMessage<Account>> {
  return once(
    context,
    'account',
    async () => (await callCore<GetAccountResponse>(context, SERVICE, 'GetAccount', {})).account!,
  );
}

/** Part of Mesh's `additionalResolvers`. */
export const accountResolvers = {
  Query: {
    myself: ((_root, _args, context) => presentUser(context.accountId)) satisfies Resolver,
  },
  User: {
    email: (async (_root, _args, context) => (await readAccount(context)).name ?? '') satisfies Resolver,
    pubKey: (async (_root, _args, context) => (await readAccount(context)).publicKey ?? '') satisfies Resolver,
    currentSpendPerHr: (async (_root, _args, context) => {
      const all = await listPodsAndWorkers(context);
      return all.reduce((sum, pod) => sum + costPerHour(pod), 0);
    }) satisfies Resolver,
  },
  Mutation: {
    updateUserSettings: (async (_root, { input }, context) => {
      const publicKey = input?.pubKey ?? undefined;
      if (publicKey !== undefined) await callCore(context, SERVICE, 'UpdateAccount', { publicKey });
      return presentUser(context.accountId);
    }) satisfies Resolver<{ input?: { pubKey?: string | null } | null }>,
  },
};
