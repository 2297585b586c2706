/** Adds, silences and removes the addresses that alerts go to. */
import type { Sealer } from '@slipway/kit/host/seal';
import { isPrivateHost } from '@slipway/kit/net/private-address';
import type { Random } from '@slipway/kit/time/clock';
import type { Actor } from '../domain/accounts/permission.ts';
import type { PrivateWebhooks } from '../domain/jobs/webhook-url.ts';
import { checkWebhookUrl, mayCallPrivate } from '../domain/jobs/webhook-url.ts';
import type { AlertTargetKind } from '../domain/reports/alert.ts';
import { checkSilence, targetNotFound } from '../domain/reports/alert.ts';
import { checkName } from '../domain/settings/fields.ts';
import { alertUrlIdentity } from '../domain/settings/sealed-identity.ts';
import type { AlertTarget } from '../store/reports/alert-store.ts';
import type { Stores } from '../store/storage.ts';

const ID_LENGTH = 12;

/** Dependencies of the use cases of alerts. */
export interface AlertContext extends Pick<Stores, 'alerts' | 'accounts'> {
  sealer: Sealer;
  random: Random;
  /** Accounts whose addresses may be private. */
  allowPrivate: PrivateWebhooks;
}

/** Fields of a new address. */
interface AlertTargetFields {
  name: string;
  kind: AlertTargetKind;
  url: string;
}

/** Stores an address. Throws INVALID_REQUEST or INVALID_WEBHOOK. */
export async function createAlertTarget(
  { alerts, accounts, sealer, random, allowPrivate }: AlertContext,
  actor: Actor,
  { name, kind, url }: AlertTargetFields,
): Promise<AlertTarget> {
  checkName('name', name);
  const { accountId } = actor;
  // The operator sets the rule.
  const mayPrivate = accountId === '' || mayCallPrivate(allowPrivate, await accounts.get(accountId));
  const address = checkWebhookUrl(url, mayPrivate, isPrivateHost);
  const id = random.id(ID_LENGTH);
  const urlSealed = sealer.seal(Buffer.from(address), alertUrlIdentity(id));
  return alerts.create(actor, { id, name, kind, host: new URL(address).origin, urlSealed });
}

/** Silences an address for `ms` from now; 0 ends its silence. Throws INVALID_REQUEST or NOT_FOUND. */
export async function silenceAlertTarget(
  { alerts }: Pick<AlertContext, 'alerts'>,
  actor: Actor,
  id: string,
  ms: number,
): Promise<AlertTarget> {
  checkSilence(ms);
  const changed = await alerts.silence(actor, id, ms);
  if (!changed) throw targetNotFound(id);
  return changed;
}

/** Removes an address. Throws NOT_FOUND. */
export async function deleteAlertTarget(
  { alerts }: Pick<AlertContext, 'alerts'>,
  actor: Actor,
  id: string,
): Promise<void> {
  if (!(await alerts.remove(actor, id))) throw targetNotFound(id);
}
