/** Rpcs of ModelService, who may call them, and a request of each. */

import type { Ask, RULES } from './scope-world.ts';
import { about, plain, served, servedName } from './scope-world.ts';

export const MODEL_ROWS: [rpc: string, rule: keyof typeof RULES, ask: Ask][] = [
  ['ModelService/ResolveModel', 'model: read', () => about(served, { model: servedName })],
  ['ModelService/ListModels', 'models: read', plain()],
];
