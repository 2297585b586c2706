/** Selects the endpoints of a model by its name, and decides how they share its requests. Pure. */
import type { Endpoint } from './endpoint.ts';

/** An endpoint, as far as the selection needs it. */
export interface ModelCandidate
  extends Pick<
    Endpoint,
    'id' | 'name' | 'type' | 'workersMax' | 'version' | 'modelAliases' | 'modelWeight' | 'modelQueueMax' | 'createdAt'
  > {
  /** Names by which its workers serve their models. Empty: not known. */
  workerModels: readonly string[];
}

/** Load of an endpoint, and its workers by state. */
export interface ModelLoad {
  /** Jobs or requests that wait. */
  waiting: number;
  /** Workers that take jobs or requests. */
  ready: number;
  starting: number;
  /** Workers that found no slot at the last decision. */
  throttled: number;
}

/** Load of an endpoint whose load is unknown. */
export const NO_LOAD: ModelLoad = { waiting: 0, ready: 0, starting: 0, throttled: 0 };

/** States of a model, by how soon it answers, soonest first. */
export const MODEL_STATES = ['READY', 'STARTING', 'STOPPED', 'THROTTLED', 'PAUSED'] as const;
export type ModelState = (typeof MODEL_STATES)[number];

/** An endpoint that takes requests for a model. */
export interface ModelTarget {
  candidate: ModelCandidate;
  /** Its share, at least 1, over the sum of all shares. */
  share: number;
  /** The name by which its workers know the model. Empty: the name that the client gave. */
  workerModel: string;
}

/** A name that clients may give, and the endpoints that it selects. */
export interface ModelGroup {
  name: string;
  candidates: ModelCandidate[];
}

/**
 * Returns the endpoints that a name selects. Looks for endpoints with this alias, then for endpoints of this name, then
 * for endpoints whose workers serve a model of this name. The first of these that exist are the result.
 */
export function selectModel(candidates: readonly ModelCandidate[], model: string): ModelCandidate[] {
  const ways: ((candidate: ModelCandidate) => boolean)[] = [
    ({ modelAliases }) => modelAliases.includes(model),
    ({ name }) => name === model,
    ({ workerModels }) => workerModels.includes(model),
  ];
  return ways.map((way) => candidates.filter(way)).find((found) => found.length > 0) ?? [];
}

/**
 * Returns the names to list, in order. An endpoint is listed by its aliases and by the models that its workers serve.
 * Without either, it is listed by its own name.
 */
export function groupModels(candidates: readonly ModelCandidate[]): ModelGroup[] {
  const names = candidates.flatMap(({ name, modelAliases, workerModels }) => {
    const known = [...modelAliases, ...workerModels];
    return known.length > 0 ? known : [name];
  });
  return [...new Set(names)].sort().map((name) => ({ name, candidates: selectModel(candidates, name) }));
}

/** Returns what can be expected of an endpoint. */
export function modelStateOf({ workersMax }: ModelCandidate, { ready, starting, throttled }: ModelLoad): ModelState {
  if (ready > 0) return 'READY';
  if (workersMax === 0) return 'PAUSED';
  if (throttled > 0) return 'THROTTLED';
  return starting > 0 ? 'STARTING' : 'STOPPED';
}

/**
 * Returns the endpoints that take requests for a model now. A throttled, paused or overfull endpoint gets requests only
 * if all are. Among the rest, an endpoint of weight 0 gets requests only if all have weight 0.
 */
export function shareModel(
  candidates: readonly ModelCandidate[],
  model: string,
  loadOf: (id: string) => ModelLoad,
): ModelTarget[] {
  const isFree = (candidate: ModelCandidate): boolean => {
    const load = loadOf(candidate.id);
    const { workersMax, modelQueueMax } = candidate;
    return workersMax > 0 && load.throttled === 0 && (modelQueueMax === 0 || load.waiting < modelQueueMax);
  };
  const isWeighted = ({ modelWeight }: ModelCandidate): boolean => modelWeight > 0;
  const free = candidates.filter(isFree);
  const tiers = [free.filter(isWeighted), free, candidates.filter(isWeighted), candidates];
  const chosen = tiers.find((tier) => tier.length > 0) ?? [];
  return chosen.map((candidate) => ({
    candidate,
    share: Math.max(1, candidate.modelWeight),
    workerModel: workerModelOf(candidate, model),
  }));
}

/** Returns the model to put into the request. Empty: the endpoint serves the name itself. Otherwise its first model. */
function workerModelOf({ workerModels }: ModelCandidate, model: string): string {
  return workerModels.includes(model) ? '' : (workerModels[0] ?? '');
}
