/** The hub that models come from, and the token for it, in the start order of a worker. */
import type { ModelHub, WorkerModel } from '@slipway/proto/gen/slipway/v1/agent_service';

/** Variables with the token for the hub. The first that is set counts. */
const TOKEN_VARIABLES = ['HF_TOKEN', 'HUGGING_FACE_HUB_TOKEN'];

/** Returns where a machine gets the models of a worker with this environment. `undefined` without models. */
export function modelHubOf(
  address: string,
  models: readonly WorkerModel[],
  env: Readonly<Record<string, string>>,
): ModelHub | undefined {
  if (models.length === 0) return undefined;
  const token = TOKEN_VARIABLES.map((name) => env[name]?.trim() ?? '').find((value) => value !== '');
  return { address, token: token ?? '' };
}
