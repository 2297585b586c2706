/** Rpcs of ModelService and of the numbers of endpoints, who may call them, and a request of each. */

import type { Ask, RULES } from './scope-world.ts';
import { about, balanced, plain, served, servedName } from './scope-world.ts';

export const MODEL_ROWS: [rpc: string, rule: keyof typeof RULES, ask: Ask][] = [
  ['ModelService/ResolveModel', 'model: read', () => about(served, { model: servedName })],
  ['ModelService/ListModels', 'models: read', plain()],
  ['EndpointService/GetLoadHistory', 'jobs: read', () => about(served, { endpointId: served })],
  ['EndpointService/GetRequestStats', 'jobs: read', () => about(balanced, { endpointId: balanced })],
  [
    'EdgeService/ReportRequests',
    'jobs: read',
    (apiKey) => about(balanced, { endpoints: [{ endpointId: balanced, apiKey, workers: [], failed: [] }] }),
  ],
];
