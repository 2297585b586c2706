/** Dependencies of the use cases of endpoints, templates and machines. */

import type { Sealer } from '@slipway/kit/host/seal';
import type { Random } from '@slipway/kit/time/clock';
import type { EndpointSettings } from '../domain/resources/endpoint.ts';
import type { MayAsk } from '../domain/resources/image-name.ts';
import type { WhatIf } from '../domain/scaling/model/what-if.ts';
import type { Stores } from '../store/storage.ts';
import type { CannotRun } from './cannot-run.ts';
import type { ExplainContext } from './explain.ts';

type OwnStores =
  | 'creations'
  | 'endpoints'
  | 'templates'
  | 'machines'
  | 'pools'
  | 'drains'
  | 'gpuHealth'
  | 'machineViews'
  | 'workers'
  | 'volumes'
  | 'scales'
  | 'suspensions'
  | 'explains'
  | 'cachedModels'
  | 'releases'
  | 'traffic'
  | 'loads'
  | 'requests'
  | 'jobs';

export interface EndpointContext extends Pick<Stores, OwnStores> {
  sealer: Sealer;
  cannotRun: CannotRun;
  rejections: ExplainContext['rejections'];
  whatIfs: {
    answer(accountId: string, endpointId: string, change: Partial<EndpointSettings>, hours: number): Promise<WhatIf>;
  };
  /** Registries whose images are allowed. */
  mayAsk: MayAsk;
  random: Random;
  /** Deletes all jobs of an endpoint. */
  deleteJobs(endpointId: string): Promise<number>;
  /**
   * Called when endpoints were created, changed or deleted. Cached grants are dropped and scaling is triggered, here
   * and on other replicas.
   */
  onChanged(endpointIds: readonly string[]): void;
  /** Called when keys were revoked or bound. Their cache entries are dropped, here and on other replicas. */
  onKeysChanged(keyIds: readonly string[]): void;
  /** Called when the desired workers of machines changed. */
  onDesired(machineIds: readonly string[]): void;
  /** Called when machines can take workers again. */
  onCapacity(machineIds: readonly string[]): void;
}
