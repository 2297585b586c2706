/** The endpoint and the model that each part of the playground sends to. */
import type { OpenaiEndpoint } from './openai-send.ts';

export interface ModelChoice {
  endpoint: OpenaiEndpoint;
  /** Name of the model, as the endpoint's workers know it. */
  model: string;
}
