/** Values of a file for `slipway apply`: each fault has its path and what is allowed, and the schema says the same. */
import { faultsOf } from '@slipway/cli/apply/check-values';
import { jsonSchema } from '@slipway/cli/apply/json-schema';
import { markedEnv } from '@slipway/cli/apply/values';
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';

const GOOD = {
  owner: 'shop',
  secrets: { token: null, other: { valueFromEnv: 'X' } },
  networkVolumes: { models: { size: 4_096, dataCenterId: 'eu-1' } },
  templates: { echo: { imageName: 'a', containerDiskInGb: 5, env: { A: '1' } } },
  endpoints: {
    a: { template: 'echo', flashboot: true, gpuTypeIds: ['NVIDIA L4'] },
    b: { template: { imageName: 'x' } },
  },
};
const endpoint = (settings: object) => ({ endpoints: { a: { template: 'echo', ...settings } } });

const WRONG: [value: unknown, fault: RegExp][] = [
  [[], /^must be a mapping with some of owner, secrets/],
  [{ endpoint: {} }, /^endpoint: is not known; did you mean endpoints\?$/],
  [{ owner: 'a b' }, /^owner: must be/],
  [{ endpoints: [] }, /^endpoints: must be a mapping from names/],
  [{ endpoints: { a: {} } }, /^endpoints\.a: needs template$/],
  [endpoint({ workerMax: 3 }), /^endpoints\.a\.workerMax: is not known; did you mean workersMax\?$/],
  [endpoint({ workersMax: '3' }), /^endpoints\.a\.workersMax: must be a whole number from 0 to 10000$/],
  [endpoint({ workersMax: 1.5 }), /whole number/],
  [endpoint({ scalerType: 'SLOW' }), /scalerType: must be one of QUEUE_DELAY, REQUEST_COUNT, SLO$/],
  [endpoint({ flashboot: 'yes' }), /flashboot: must be true or false$/],
  [endpoint({ env: { A: 1 } }), /^endpoints\.a\.env\.A: must be a text; quote it: "1"$/],
  [endpoint({ gpuTypeIds: 'NVIDIA L4' }), /gpuTypeIds: must be a list of texts$/],
  [endpoint({ template: { imageName: 1 } }), /^endpoints\.a\.template\.imageName: must be a text of 0 to 4096/],
  [endpoint({ template: {}, env: {} }), /^endpoints\.a\.env: belongs into endpoints\.a\.template\.env/],
  [{ templates: { 'a b': { ports: ['x'] } } }, /^templates\["a b"\]\.ports\[0\]: must match/],
  [{ secrets: { a: { valueFromEnv: 'A', valueFromFile: 'b' } } }, /give one of valueFromEnv and valueFromFile$/],
  [{ networkVolumes: { a: { size: 0, dataCenterId: 'x' } } }, /size: must be a whole number from 1 to 4096$/],
];

t.test('faults name their path and the allowed values', async (t) => {
  t.same(faultsOf(GOOD), []);
  for (const [value, fault] of WRONG) t.match(faultsOf(value), [fault], JSON.stringify(value));
});

t.test('the schema accepts valid files and rejects faulty ones', async (t) => {
  const fits = new Ajv2020({ strict: false }).compile(jsonSchema());
  t.ok(fits(GOOD), JSON.stringify(fits.errors));
  // Rules between settings, which only the command checks.
  const rules = /belongs into|give one of/;
  for (const [value, fault] of WRONG) if (!rules.test(fault.source)) t.notOk(fits(value), JSON.stringify(value));
});

t.test('the mark of the owner stays beside the variables', async (t) => {
  t.same(markedEnv({ A: '1' }, undefined, 'shop'), { A: '1', SLIPWAY_OWNER: 'shop' });
  t.same(markedEnv(undefined, { A: '1' }, 'shop'), { A: '1', SLIPWAY_OWNER: 'shop' });
  t.equal(markedEnv(undefined, { SLIPWAY_OWNER: 'shop' }, 'shop'), undefined);
  t.same(markedEnv({ B: '2' }, { A: '1', SLIPWAY_OWNER: 'shop' }, undefined), { B: '2', SLIPWAY_OWNER: 'shop' });
  t.equal(markedEnv(undefined, { A: '1' }, undefined), undefined);
});
