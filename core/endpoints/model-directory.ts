/**
 * Finds the endpoints of a model by the name that an OpenAI client gives, and lists the models of an account. Caches
 * what it reads, so that many keys and facades that ask for the same models cost a few statements a second.
 */
import { boundedCache } from '@slipway/kit/bytes/bounded-cache';
import type { Clock } from '@slipway/kit/time/clock';
import type { Caller } from '../domain/accounts/permission.ts';
import { MODEL_NAME_LENGTH_MAX, workerModelsOf } from '../domain/resources/model-name.ts';
import type {
  ModelCandidate,
  ModelGroup,
  ModelLoad,
  ModelState,
  ModelTarget,
} from '../domain/resources/model-selection.ts';
import {
  groupModels,
  MODEL_STATES,
  modelStateOf,
  NO_LOAD,
  selectModel,
  shareModel,
} from '../domain/resources/model-selection.ts';
import { DomainError } from '../domain/settings/errors.ts';
import { characterCount, invalid } from '../domain/settings/fields.ts';
import type { ModelEndpoint } from '../store/resources/model-store.ts';
import type { Stores } from '../store/storage.ts';

/** Most endpoints of an account that are models, the oldest ones. */
const ENDPOINTS_MAX = 1_000;
/** Most models in a list, and most endpoints that are listed of one. */
const MODELS_MAX = 1_000;
const LISTED_ENDPOINTS_MAX = 100;
/** Most endpoints that are cached, of all accounts, and most accounts. */
const CACHED_MAX = 50_000;
/** Milliseconds for which an account's endpoints are reused; for a name that is not among them, less. */
const FRESH_MS = 1_000;
const FRESH_FOR_UNKNOWN_MS = 200;
/** Milliseconds for which the load of an endpoint is reused. */
const LOAD_FRESH_MS = 500;
/** Environments that are read and decrypted at a time. */
const ENVIRONMENTS_AT_ONCE = 50;
/** Most names in the text of a rejection. */
const NAMES_SHOWN_MAX = 20;

/** An endpoint of a listed model. */
interface ListedEndpoint {
  candidate: ModelCandidate;
  state: ModelState;
  waiting: number;
}

/** A model with what can be expected of it. */
export interface ModelListing extends Pick<ModelGroup, 'name'> {
  state: ModelState;
  /** The oldest first. */
  endpoints: ListedEndpoint[];
}

interface Entry<Value> {
  value: Value;
  readAtMs: number;
}

export class ModelDirectory {
  readonly #models: Stores['models'];
  readonly #clock: Clock;
  readonly #accounts = boundedCache<string, Entry<Promise<ModelCandidate[]>>>(CACHED_MAX / 10);
  readonly #loads = boundedCache<string, Entry<ModelLoad>>(CACHED_MAX);
  /** Names that workers serve, by endpoint and version: a change of the environment makes a new version. */
  readonly #workerModels = boundedCache<string, string[]>(CACHED_MAX);

  constructor(models: Stores['models'], clock: Clock) {
    this.#models = models;
    this.#clock = clock;
  }

  /** Returns the endpoints that take requests for a model now. Throws MODEL_NOT_FOUND with the names that there are. */
  async resolve(caller: Caller, model: string): Promise<ModelTarget[]> {
    const length = characterCount(model);
    if (length === 0 || length > MODEL_NAME_LENGTH_MAX)
      throw invalid(`model has ${length} characters, but must have 1 to ${MODEL_NAME_LENGTH_MAX}`);
    const found = await this.#select(caller, model);
    // The load matters only where there is a choice.
    const loads = found.length > 1 ? await this.#loadsOf(found) : new Map<string, ModelLoad>();
    return shareModel(found, model, (id) => loads.get(id) ?? NO_LOAD);
  }

  /** Returns the models that a caller may use, by name. `model`: only this one, or MODEL_NOT_FOUND; empty: all. */
  async list(caller: Caller, model: string): Promise<ModelListing[]> {
    const groups =
      model === ''
        ? groupModels(await this.#visible(caller, FRESH_MS)).slice(0, MODELS_MAX)
        : [{ name: model, candidates: await this.#select(caller, model) }];
    const loads = await this.#loadsOf(groups.flatMap(({ candidates }) => candidates));
    return groups.map(({ name, candidates }) => {
      const endpoints = candidates.slice(0, LISTED_ENDPOINTS_MAX).map((candidate) => {
        const load = loads.get(candidate.id) ?? NO_LOAD;
        return { candidate, state: modelStateOf(candidate, load), waiting: load.waiting };
      });
      const state = MODEL_STATES.find((each) => endpoints.some((endpoint) => endpoint.state === each))!;
      return { name, state, endpoints };
    });
  }

  async #select(caller: Caller, model: string): Promise<ModelCandidate[]> {
    const known = selectModel(await this.#visible(caller, FRESH_MS), model);
    if (known.length > 0) return known;
    const visible = await this.#visible(caller, FRESH_FOR_UNKNOWN_MS);
    const found = selectModel(visible, model);
    if (found.length === 0) throw modelNotFound(model, visible);
    return found;
  }

  /** Returns the endpoints that a key may use. */
  async #visible({ accountId, endpointIds }: Caller, freshMs: number): Promise<ModelCandidate[]> {
    const all = await this.#candidates(accountId, freshMs);
    return endpointIds.length === 0 ? all : all.filter(({ id }) => endpointIds.includes(id));
  }

  #candidates(accountId: string, freshMs: number): Promise<ModelCandidate[]> {
    const nowMs = this.#clock.monotonicMs();
    const known = this.#accounts.get(accountId);
    if (known && nowMs - known.readAtMs < freshMs) return known.value;
    const value = this.#read(accountId);
    this.#accounts.set(accountId, { value, readAtMs: nowMs });
    value.catch(() => this.#accounts.delete(accountId));
    return value;
  }

  async #read(accountId: string): Promise<ModelCandidate[]> {
    const named = await this.#models.named(accountId, ENDPOINTS_MAX);
    const unread = named.filter((endpoint) => !this.#workerModels.has(versionOf(endpoint)));
    for (let at = 0; at < unread.length; at += ENVIRONMENTS_AT_ONCE) {
      const some = unread.slice(at, at + ENVIRONMENTS_AT_ONCE);
      const environments = await this.#models.environments(some.map(({ id }) => id));
      for (const endpoint of some)
        this.#workerModels.set(versionOf(endpoint), workerModelsOf(environments.get(endpoint.id) ?? {}));
    }
    return named.map((endpoint) => ({ ...endpoint, workerModels: this.#workerModels.get(versionOf(endpoint)) ?? [] }));
  }

  async #loadsOf(candidates: readonly ModelCandidate[]): Promise<Map<string, ModelLoad>> {
    const nowMs = this.#clock.monotonicMs();
    const loads = new Map<string, ModelLoad>();
    const stale = new Set<string>();
    for (const { id } of candidates) {
      const known = this.#loads.get(id);
      if (known && nowMs - known.readAtMs < LOAD_FRESH_MS) loads.set(id, known.value);
      else stale.add(id);
    }
    if (stale.size === 0) return loads;
    for (const [id, value] of await this.#models.loads([...stale])) {
      this.#loads.set(id, { value, readAtMs: nowMs });
      loads.set(id, value);
    }
    return loads;
  }
}

function versionOf({ id, version }: Pick<ModelEndpoint, 'id' | 'version'>): string {
  return `${id} ${version}`;
}

function modelNotFound(model: string, visible: readonly ModelCandidate[]): DomainError {
  const names = groupModels(visible).map(({ name }) => JSON.stringify(name.slice(0, 64)));
  const shown = names.slice(0, NAMES_SHOWN_MAX).join(', ');
  const more = names.length > NAMES_SHOWN_MAX ? ` and ${names.length - NAMES_SHOWN_MAX} more` : '';
  const there = names.length === 0 ? 'This key can use no endpoint.' : `There are ${shown}${more}.`;
  return new DomainError(
    'MODEL_NOT_FOUND',
    `There is no model ${JSON.stringify(model.slice(0, 64))}. ${there} A model is the alias or the name of an ` +
      'endpoint, or the name by which its workers serve one.',
  );
}
