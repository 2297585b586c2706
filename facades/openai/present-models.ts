/** Presents models as OpenAI's list does, with their state and endpoints beside. */
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { Model } from '@slipway/proto/gen/slipway/v1/model_service';
import { ModelState } from '@slipway/proto/gen/slipway/v1/model_service';

const STATES: Record<ModelState, string> = {
  [ModelState.UNSPECIFIED]: 'stopped',
  [ModelState.READY]: 'ready',
  [ModelState.STARTING]: 'starting',
  [ModelState.STOPPED]: 'stopped',
  [ModelState.THROTTLED]: 'throttled',
  [ModelState.PAUSED]: 'paused',
};

/** Returns one model. */
export function presentModel({ name, state, createTime, endpoints }: Model) {
  return {
    id: name,
    object: 'model',
    created: Math.floor((createTime?.getTime() ?? 0) / 1_000),
    owned_by: 'slipway',
    state: STATES[state],
    endpoints: endpoints.map(({ id, name: endpointName, type, state: own, waiting }) => ({
      id,
      name: endpointName,
      type: type === EndpointType.LB ? 'LB' : 'QB',
      state: STATES[own],
      waiting,
    })),
  };
}
