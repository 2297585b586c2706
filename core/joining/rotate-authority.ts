/** Exchanges the installation's authority, with an overlap in which two are trusted. For the operator. */
import type { AuthorityState, ChangeAuthorityRequest } from '@slipway/proto/gen/slipway/v1/join_service';
import { AuthorityChange } from '@slipway/proto/gen/slipway/v1/join_service';
import type { Caller } from '../domain/accounts/permission.ts';
import { DomainError } from '../domain/settings/errors.ts';
import { invalid } from '../domain/settings/fields.ts';
import type { Stores } from '../store/storage.ts';
import type { CoreCertificates } from './core-certificates.ts';
import { requireOperator } from './join-tokens.ts';

/** Dependencies of the exchange. */
export interface RotationContext extends Pick<Stores, 'authorities' | 'joinTokens'> {
  certificates: CoreCertificates;
}

type Step = (context: RotationContext, keyId: string, force: boolean) => Promise<void>;

/** Returns the authorities, and who still depends on the older one. Throws UNAUTHORIZED: not the operator. */
export async function readAuthorities(context: RotationContext, caller: Caller): Promise<AuthorityState> {
  requireOperator(caller);
  await context.certificates.refresh();
  return summaryOf(context);
}

/**
 * Takes a step of the exchange. Throws UNAUTHORIZED: not the operator. IN_USE: the step is not possible now; the text
 * says why.
 */
export async function changeAuthority(
  context: RotationContext,
  caller: Caller,
  { change, force }: ChangeAuthorityRequest,
): Promise<AuthorityState> {
  requireOperator(caller);
  const step = STEPS[change];
  if (!step) throw invalid('change must be ROTATE, USE or WITHDRAW');
  if (!context.certificates.authority)
    throw new DomainError('IN_USE', 'This core speaks no TLS, so it has no authority to exchange.');
  await context.certificates.refresh();
  await step(context, caller.keyId, force);
  await context.certificates.refresh();
  return summaryOf(context);
}

const STEPS: Partial<Record<AuthorityChange, Step>> = {
  [AuthorityChange.ROTATE]: async ({ authorities, certificates }, keyId) => {
    if (await authorities.rotate(certificates.create(), keyId)) return;
    throw new DomainError(
      'IN_USE',
      'Two authorities are trusted already. End that exchange first: slipway authority use, then slipway authority ' +
        'withdraw.',
    );
  },
  [AuthorityChange.USE]: async (context, keyId, force) => {
    const { next, isSettled } = context.certificates;
    if (!next) throw new DomainError('IN_USE', 'There is no new authority. Make one: slipway authority rotate');
    if (!isSettled) {
      throw new DomainError(
        'IN_USE',
        'The new authority is less than a minute old, and other replicas of core may not know it yet. Wait a minute.',
      );
    }
    await requireNobodyLeft(context.authorities, next.digest, force);
    if (!(await context.authorities.use(keyId, next.certificate))) throw changedMeanwhile();
  },
  [AuthorityChange.WITHDRAW]: async (context, keyId, force) => {
    const { authorities, certificates } = context;
    const { next, authority, previous } = certificates;
    if (!next && previous === undefined)
      throw new DomainError('IN_USE', 'Only one authority is trusted; there is none to withdraw.');
    const seen = { current: authority!.certificate, next: next?.certificate, previous };
    const isWithdrawn = await authorities.withdraw(keyId, seen, async (machines) => {
      if (!next) return requireNobodyLeft({ machines }, authority!.digest, force);
      const { count } = await machines(next.digest, true);
      if (count === 0 || force) return;
      throw new DomainError(
        'IN_USE',
        `Machines with a certificate of the new authority: ${count}; they would have to join again. ` +
          'Use it instead: slipway authority use',
      );
    });
    if (!isWithdrawn) throw changedMeanwhile();
  },
};

function changedMeanwhile(): DomainError {
  return new DomainError(
    'IN_USE',
    'Another call has just changed the authorities. Look at them before you change them again: slipway authority',
  );
}

async function requireNobodyLeft(
  authorities: Pick<RotationContext['authorities'], 'machines'>,
  digest: string,
  force: boolean,
): Promise<void> {
  const { count, names } = await authorities.machines(digest, false);
  if (count === 0 || force) return;
  throw new DomainError(
    'IN_USE',
    `Machines without a certificate of the new authority: ${count} (${names.join(', ')}). Agents ask for one every ` +
      '15 minutes. A machine that is off joins again with a token; --force does not wait for it.',
  );
}

async function summaryOf({ authorities, joinTokens, certificates }: RotationContext): Promise<AuthorityState> {
  const { all, authority, next, previous } = certificates;
  const newer = next ?? (previous === undefined ? undefined : authority);
  const left = newer ? await authorities.machines(newer.digest, false) : { count: 0, names: [] };
  const tokens = newer ? await joinTokens.list() : [];
  return {
    authorities: all,
    machinesLeft: left.count,
    machineNames: left.names,
    openTokens: tokens.filter(({ open }) => open).length,
  };
}
