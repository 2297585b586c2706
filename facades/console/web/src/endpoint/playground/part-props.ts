/** Properties of each part of the playground. */
import type { OpenaiEndpoint } from './openai-send.ts';

export interface PartProps {
  endpoint: OpenaiEndpoint;
  /** Name of the model, as the endpoint's workers know it. */
  model: string;
}
