/** Simulates other settings of an endpoint on its recorded history. Changes nothing. */

import { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import type { Clock } from '@slipway/kit/time/clock';
import { endpointNotFound } from '../domain/accounts/permission.ts';
import { unlistedTypes } from '../domain/machines/gpu-pools.ts';
import type { EndpointSettings } from '../domain/resources/endpoint.ts';
import { checkEndpoint } from '../domain/resources/endpoint.ts';
import type { WhatIf } from '../domain/scaling/model/what-if.ts';
import { answerWhatIf, WHAT_IF_FIELDS } from '../domain/scaling/model/what-if.ts';
import type { ScaleSettings } from '../domain/scaling/scaler.ts';
import { TRAFFIC_KEPT_HOURS } from '../domain/scaling/traffic.ts';
import { invalid, snake } from '../domain/settings/fields.ts';
import type { Stores } from '../store/storage.ts';
import { getEndpoint } from './endpoints.ts';

/** Dependencies of the answers. */
interface WhatIfOptions {
  stores: Pick<Stores, 'endpoints' | 'explains' | 'traffic'>;
  clock: Clock;
}

/** Maximum number of waiting questions, in all and per account. A question may take a second of CPU. */
const QUESTION_BYTES = 1024 * 1024;
const WAITING_MAX = 16;
const OF_ACCOUNT_MAX = 2;

export class WhatIfAnswers {
  readonly #options: WhatIfOptions;
  readonly #work: SlicedWork;

  constructor(options: WhatIfOptions) {
    this.#options = options;
    const bytes = { bytesMax: WAITING_MAX * QUESTION_BYTES, ownerBytesMax: OF_ACCOUNT_MAX * QUESTION_BYTES };
    this.#work = new SlicedWork({ name: 'what-if questions', ...bytes, clock: options.clock });
  }

  /**
   * Throws ENDPOINT_NOT_FOUND, OverloadError, or INVALID_REQUEST if a setting is unknown or out of range, or if the
   * endpoint is no queue endpoint.
   */
  async answer(
    accountId: string,
    endpointId: string,
    change: Partial<EndpointSettings>,
    hours: number,
  ): Promise<WhatIf> {
    const { stores, clock } = this.#options;
    if (hours < 0 || hours > TRAFFIC_KEPT_HOURS)
      throw invalid(`hours is ${hours}, but must be from 1 to ${TRAFFIC_KEPT_HOURS}, or 0 for all of them`);
    const other = Object.keys(change).find((field) => !WHAT_IF_FIELDS.some((known) => known === field));
    if (other !== undefined) {
      throw invalid(
        `update_mask: ${snake(other)} is not a setting that scaling uses; there are ` +
          `${WHAT_IF_FIELDS.map(snake).join(', ')}`,
      );
    }
    const [endpoint, seen] = await Promise.all([
      getEndpoint(stores, accountId, endpointId),
      stores.explains.endpoint(endpointId),
    ]);
    if (!seen) throw endpointNotFound(endpointId);
    checkEndpoint({ ...endpoint, ...change }, new Set(unlistedTypes(endpoint.gpuIds)));
    if (endpoint.type === 'LB')
      throw invalid('the endpoint is a load-balancing one: only of queues is enough recorded to answer that');
    const recorded = await stores.traffic.recorded(endpointId, accountId, hours || TRAFFIC_KEPT_HOURS);
    const work = answerWhatIf(recorded, seen.sample.settings, scaleSettings(change), clock.nowMs());
    return await this.#work.run(accountId, QUESTION_BYTES, work);
  }
}

function scaleSettings({ flashBootType, ...change }: Partial<EndpointSettings>): Partial<ScaleSettings> {
  return {
    ...(change as Partial<ScaleSettings>),
    ...(flashBootType === undefined ? {} : { flashBoot: flashBootType === 'FLASHBOOT' }),
  };
}
