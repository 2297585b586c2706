/** Lists the webhook calls of a job and orders the newest one again. */

import type { JobKey } from '../../domain/jobs/job.ts';
import { jobNotFound } from '../../domain/jobs/job.ts';
import { isJobId } from '../../domain/jobs/job-id.ts';
import { ANNOUNCED_STATES } from '../../domain/jobs/job-state.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import { checkWord, unknownFilter } from '../../store/sql/list-filter.ts';
import type { Stores } from '../../store/storage.ts';
import type { WebhookCallRecord } from '../../store/webhooks/webhook-result-store.ts';
import type { ReadJob } from '../read/read-job.ts';

interface RedriveWebhookOptions {
  stores: Pick<Stores, 'webhookResults'>;
  reads: ReadJob;
  /** Called when a webhook call may be due. */
  onWebhooks: () => void;
}

/** Times that one call may be ordered again. A call that fails that often does not succeed by another try. */
export const REDRIVES_MAX = 20;
/** Tries of the read-then-redrive race with other callers. */
const TRIES_MAX = 5;
/** Most calls that are listed; each end of a job orders one. */
const CALLS_MAX = 100;
const CALL_STATES: readonly WebhookCallRecord['state'][] = ['WAITING', 'DELIVERED', 'GIVEN_UP'];

export class RedriveWebhook {
  readonly #options: RedriveWebhookOptions;

  constructor(options: RedriveWebhookOptions) {
    this.#options = options;
  }

  /**
   * Returns the calls that match the filters, newest first. Throws JOB_NOT_FOUND, or INVALID_REQUEST for a field
   * other than `state` or an unknown value.
   */
  async list(key: JobKey, { state, ...others }: Readonly<Record<string, string>> = {}): Promise<WebhookCallRecord[]> {
    if (!isJobId(key.jobId)) throw jobNotFound(key.jobId);
    for (const name of Object.keys(others)) throw unknownFilter(name, ['state']);
    if (state !== undefined) checkWord('state', state, CALL_STATES);
    const { reads, stores } = this.#options;
    await reads.read(key, { omitOutput: true });
    return await stores.webhookResults.list(key, CALLS_MAX, state as WebhookCallRecord['state'] | undefined);
  }

  /** Returns the newest call, ordered again or still due. Throws JOB_NOT_FOUND or WEBHOOK_NOT_REDRIVABLE. */
  async redrive(key: JobKey): Promise<WebhookCallRecord> {
    if (!isJobId(key.jobId)) throw jobNotFound(key.jobId);
    const { reads, stores, onWebhooks } = this.#options;
    const { state } = await reads.read(key, { omitOutput: true });
    let newest: WebhookCallRecord | undefined;
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      [newest] = await stores.webhookResults.list(key, 1);
      if (newest?.state === 'WAITING') return newest;
      if (!newest || newest.redrives >= REDRIVES_MAX || !isAnnounced(state)) break;
      // Lost the race: another caller ordered it, or a newer call exists now.
      if (!(await stores.webhookResults.redrive(key, REDRIVES_MAX))) continue;
      onWebhooks();
      const [ordered = newest] = await stores.webhookResults.list(key, 1);
      return ordered;
    }
    throw new DomainError('WEBHOOK_NOT_REDRIVABLE', whyNot(state, newest));
  }
}

function isAnnounced(state: string): boolean {
  return (ANNOUNCED_STATES as readonly string[]).includes(state);
}

function whyNot(state: string, newest: WebhookCallRecord | undefined): string {
  if (!isAnnounced(state))
    return `The job is ${state}; only the end of ${ANNOUNCED_STATES.join(', ')} jobs is announced.`;
  if (!newest) return 'No webhook call of this job has ended: it was submitted without a webhook.';
  const why = newest.lastError || 'it was delivered';
  return (
    `This call was redriven ${newest.redrives} times, and more than ${REDRIVES_MAX} are refused. Look why its ` +
    `receiver needs it again: ${why}`
  );
}
