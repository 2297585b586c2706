/**
 * CheckAccess, alone or on a pipeline: returns the permissions of a key, and the facts about the endpoint that a facade
 * needs before it reads a body.
 */

import type { Clock } from '@slipway/kit/time/clock';
import type { CheckAccessRequest, CheckAccessResponse } from '@slipway/proto/gen/slipway/v1/access_service';
import { Api } from '@slipway/proto/gen/slipway/v1/access_service';
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { Access } from '../../access/access.ts';
import type { StartedWorkers } from '../../access/started-workers.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import type { RefusedAttempts } from '../../reports/refused-attempts.ts';
import { currentSource } from '../../store/accounts/call-source.ts';
import { endpointTypeToMessage } from '../resources/endpoint-messages.ts';
import { recordRefusal } from '../server/record-refusals.ts';

interface AccessChecksOptions {
  access: Access;
  /** Records keys that are refused. Default: they are not recorded. */
  refusals?: RefusedAttempts;
  startedWorkers: StartedWorkers;
  clock: Clock;
}

export class AccessChecks {
  readonly #options: AccessChecksOptions;

  constructor(options: AccessChecksOptions) {
    this.#options = options;
  }

  /** Checks a key. Throws UNAUTHORIZED or ENDPOINT_NOT_FOUND, as Access does. */
  async check({ endpointId, write, api }: CheckAccessRequest, apiKey: string): Promise<CheckAccessResponse> {
    const { access, startedWorkers, clock } = this.#options;
    const asked = { api: api === Api.JOBS ? 'JOBS' : 'MANAGEMENT', write } as const;
    const checked = async () => access.check(apiKey, endpointId === '' ? asked : { ...asked, endpointId });
    const grant = await checked().catch((error: unknown) => {
      this.#record(apiKey, endpointId, error);
      throw error;
    });
    const started = grant.endpoint ? await startedWorkers.count(grant.endpoint.id) : 0;
    return {
      accountId: grant.accountId,
      keyId: grant.keyId,
      endpointType: grant.endpoint ? endpointTypeToMessage(grant.endpoint.type) : EndpointType.UNSPECIFIED,
      workersRunning: started,
      requestQuota: grant.caller.requestQuota,
      validMs: Math.max(Math.floor(grant.validUntilMs - clock.monotonicMs()), 0),
    };
  }

  /** Records a key that is unknown, or may not do this. A wrong endpoint is a mistake, and is not recorded. */
  #record(apiKey: string, endpointId: string, error: unknown): void {
    const { access, refusals } = this.#options;
    if (!refusals || !(error instanceof DomainError) || error.reason !== 'UNAUTHORIZED') return;
    const attempt = { action: 'CheckAccess', subjectId: endpointId, error, source: currentSource() };
    void recordRefusal({ access, refusals }, apiKey, attempt);
  }
}
