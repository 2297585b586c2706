/** Which endpoints a model's name selects, and how they share its requests. */
import { workerModelsOf } from '@slipway/core/domain/resources/model-name';
import type { ModelCandidate, ModelLoad } from '@slipway/core/domain/resources/model-selection';
import {
  groupModels,
  modelStateOf,
  NO_LOAD,
  selectModel,
  shareModel,
} from '@slipway/core/domain/resources/model-selection';
import t from 'tap';

const candidate = (id: string, more: Partial<ModelCandidate> = {}): ModelCandidate => ({
  id,
  name: id,
  type: 'QB',
  workersMax: 3,
  version: 0,
  modelAliases: [],
  modelWeight: 1,
  modelQueueMax: 0,
  createdAt: new Date(0),
  workerModels: [],
  ...more,
});
const ids = (found: readonly ModelCandidate[]) => found.map(({ id }) => id).join();

t.test('names from the environment of public images', async (t) => {
  const cases: [env: Record<string, string>, names: string[]][] = [
    [{}, []],
    [{ MODEL_NAME: 'meta-llama/Llama' }, ['meta-llama/Llama']],
    [{ MODEL_NAME: 'a/b', OPENAI_SERVED_MODEL_NAME_OVERRIDE: 'b' }, ['b']],
    [{ MODEL_NAME: 'a/b', OPENAI_SERVED_MODEL_NAME_OVERRIDE: ' ' }, ['a/b']],
    [{ MODEL_NAME: 'a/b', SERVED_MODEL_NAME: 'c' }, ['c']],
    [{ MODEL_NAMES: 'BAAI/bge-small; BAAI/bge-large;' }, ['BAAI/bge-small', 'BAAI/bge-large']],
    [{ MODEL_NAME: '{{ RUNPOD_SECRET_model }}' }, []],
    [{ MODEL_NAME: 'x'.repeat(192) }, []],
  ];
  for (const [env, names] of cases) t.same(workerModelsOf(env), names, JSON.stringify(env));
});

t.test('an alias comes before a name, and a name before what workers serve', async (t) => {
  const all = [
    candidate('a', { workerModels: ['m'] }),
    candidate('b', { name: 'm' }),
    candidate('c', { modelAliases: ['m', 'n'] }),
    candidate('d', { modelAliases: ['m'] }),
  ];
  t.equal(ids(selectModel(all, 'm')), 'c,d');
  t.equal(ids(selectModel(all.slice(0, 2), 'm')), 'b');
  t.equal(ids(selectModel(all.slice(0, 1), 'm')), 'a');
  t.equal(ids(selectModel(all, 'n')), 'c');
  t.equal(ids(selectModel(all, 'c')), 'c', 'its own name goes on to select an endpoint with aliases');
  t.equal(ids(selectModel(all, 'M')), '', 'letters count');
});

t.test('listed are aliases and models of workers; the name of an endpoint that has neither', async (t) => {
  const all = [
    candidate('z'),
    candidate('b', { modelAliases: ['y', 'x'] }),
    candidate('c', { workerModels: ['x', 'w'] }),
  ];
  t.same(
    groupModels(all).map(({ name, candidates }) => [name, ids(candidates)]),
    [
      ['w', 'c'],
      ['x', 'b'],
      ['y', 'b'],
      ['z', 'z'],
    ],
  );
});

t.test('shares', async (t) => {
  const busy: Partial<ModelLoad> = { waiting: 5 };
  const throttled: Partial<ModelLoad> = { throttled: 1 };
  const a = candidate('a', { modelWeight: 3, modelQueueMax: 5 });
  const b = candidate('b', { modelWeight: 1 });
  const fallback = candidate('f', { modelWeight: 0 });
  const paused = candidate('p', { workersMax: 0 });
  const cases: [what: string, all: ModelCandidate[], loads: Record<string, Partial<ModelLoad>>, shares: object][] = [
    ['by weight', [a, b], {}, { a: 3, b: 1 }],
    ['not with weight 0', [a, b, fallback], {}, { a: 3, b: 1 }],
    ['not where the bound is reached', [a, b], { a: busy }, { b: 1 }],
    ['one below the bound', [a, b], { a: { waiting: 4 } }, { a: 3, b: 1 }],
    ['without a bound any number may wait', [a, b], { b: { waiting: 1_000 } }, { a: 3, b: 1 }],
    ['not where workers find no place', [a, b], { b: throttled }, { a: 3 }],
    ['not where it is paused', [a, paused], {}, { a: 3 }],
    ['weight 0 while no other can', [a, b, fallback], { a: busy, b: throttled }, { f: 1 }],
    ['while none can, the weights', [a, b, fallback], { a: busy, b: throttled, f: throttled }, { a: 3, b: 1 }],
    ['one alone, whatever it does', [paused], { p: throttled }, { p: 1 }],
    ['one alone of weight 0', [fallback], {}, { f: 1 }],
  ];
  for (const [what, all, loads, shares] of cases) {
    const targets = shareModel(all, 'm', (id) => ({ ...NO_LOAD, ...loads[id] }));
    t.same(Object.fromEntries(targets.map(({ candidate: { id }, share }) => [id, share])), shares, what);
  }
});

t.test('workers get the model under their own name for it', async (t) => {
  const named = (workerModels: string[]) =>
    shareModel([candidate('a', { workerModels })], 'm', () => NO_LOAD)[0]!.workerModel;
  t.equal(named([]), '', 'as the client named it, where nothing is known');
  t.equal(named(['x', 'm']), '');
  t.equal(named(['x', 'y']), 'x');
});

t.test('states', async (t) => {
  const state = (load: Partial<ModelLoad>, workersMax = 3) =>
    modelStateOf(candidate('a', { workersMax }), { ...NO_LOAD, ...load });
  t.equal(state({ ready: 1, throttled: 2 }), 'READY');
  t.equal(state({ starting: 1, throttled: 2 }), 'THROTTLED');
  t.equal(state({ starting: 1 }), 'STARTING');
  t.equal(state({}), 'STOPPED');
  t.equal(state({}, 0), 'PAUSED');
});
