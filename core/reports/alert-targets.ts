/** Adds, silences and removes the addresses that alerts go to. */
import type { Sealer } from '@slipway/kit/host/seal';
import { isPrivateHost } from '@slipway/kit/net/private-address';
import type { Random } from '@slipway/kit/time/clock';
import type { Actor } from '../domain/accounts/permission.ts';
import type { PrivateWebhooks } from '../domain/jobs/webhook-url.ts';
import { checkWebhookUrl, mayCallPrivate } from '../domain/jobs/webhook-url.ts';
import type { AlertTargetKind } from '../domain/reports/alert.ts';
import { checkMailAddress, checkSilence, targetNotFound } from '../domain/reports/alert.ts';
import { checkName, invalid } from '../domain/settings/fields.ts';
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
  /** True if the installation has a mail server. */
  sendsMail: boolean;
}

/** Fields of a new address. */
interface AlertTargetFields {
  name: string;
  kind: AlertTargetKind;
  url: string;
}

/** Stores an address. Throws INVALID_REQUEST or INVALID_WEBHOOK. */
export async function createAlertTarget(
  context: AlertContext,
  actor: Actor,
  { name, kind, url }: AlertTargetFields,
): Promise<AlertTarget> {
  const { alerts, sealer, random } = context;
  checkName('name', name);
  const address = kind === 'EMAIL' ? mailAddress(context, url) : await webAddress(context, actor, url);
  const host = kind === 'EMAIL' ? address : new URL(address).origin;
  const id = random.id(ID_LENGTH);
  const urlSealed = sealer.seal(Buffer.from(address), alertUrlIdentity(id));
  return alerts.create(actor, { id, name, kind, host, urlSealed });
}

function mailAddress({ sendsMail }: AlertContext, url: string): string {
  if (sendsMail) return checkMailAddress(url);
  throw invalid('this installation sends no e-mail: its operator must set SLIPWAY_SMTP_URL and SLIPWAY_MAIL_FROM');
}

async function webAddress(
  { accounts, allowPrivate }: AlertContext,
  { accountId }: Actor,
  url: string,
): Promise<string> {
  // The operator sets the rule.
  const mayPrivate = accountId === '' || mayCallPrivate(allowPrivate, await accounts.get(accountId));
  return checkWebhookUrl(url, mayPrivate, isPrivateHost);
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
