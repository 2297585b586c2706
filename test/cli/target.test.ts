/** Where a command goes: a key of the environment never follows a local.env of some folder to another machine. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCliConfig } from '@slipway/cli/config';
import { chooseTarget } from '@slipway/cli/target';
import t from 'tap';

t.test('a local.env that names another machine counts only when it is named', async (t) => {
  const workingDir = t.testdir();
  mkdirSync(join(workingDir, '.slipway'));
  const file = join(workingDir, '.slipway', 'local.env');
  const config = { ...readCliConfig({ SLIPWAY_API_KEY: 'rpa_mine' }), workingDir };
  writeFileSync(file, "SLIPWAY_CORE_ADDRESS='elsewhere.example:50051'\nSLIPWAY_API_KEY='rpa_theirs'\n");
  t.match(chooseTarget(config, {}), { address: /^127\.0\.0\.1:/, user: { key: 'rpa_mine' } });
  t.match(chooseTarget(config, { localEnv: file }), { address: 'elsewhere.example:50051', user: { key: 'rpa_mine' } });
  writeFileSync(file, "SLIPWAY_CORE_ADDRESS='127.0.0.1:4711'\nSLIPWAY_API_KEY='rpa_theirs'\n");
  t.match(chooseTarget(config, {}), { address: '127.0.0.1:4711', user: { key: 'rpa_mine' } });
  t.match(chooseTarget({ ...config, apiKey: undefined }, {}), {
    address: '127.0.0.1:4711',
    user: { key: 'rpa_theirs' },
  });
});

t.test("the operator's key lies beside local.env and goes to that core only", async (t) => {
  const workingDir = t.testdir();
  mkdirSync(join(workingDir, '.slipway'));
  writeFileSync(
    join(workingDir, '.slipway', 'local.env'),
    "SLIPWAY_CORE_ADDRESS='127.0.0.1:4711'\nSLIPWAY_API_KEY='rpa_theirs'\n",
  );
  const config = { ...readCliConfig({}), workingDir };
  const operatorOf = (options = {}, more = {}) => chooseTarget({ ...config, ...more }, options).operator;
  t.match(operatorOf(), { key: undefined, hint: /SLIPWAY_ROOT_KEY/ }, 'there is none yet');
  writeFileSync(join(workingDir, '.slipway', 'secrets.json'), '{"rootKey":"root_local"}');
  t.match(operatorOf(), { key: 'root_local', source: /^beside .*local\.env$/ });
  t.match(operatorOf({ core: '127.0.0.1:4712' }), { key: undefined }, 'it goes to no other core');
  t.match(operatorOf({}, { rootKey: 'root_env', apiKey: 'rpa_mine' }), {
    key: 'root_env',
    source: 'of SLIPWAY_ROOT_KEY',
  });
  t.match(operatorOf({ key: 'root_given' }), { key: 'root_given', source: 'of --key' });
  t.match(operatorOf({}, { apiKey: 'rpa_mine' }), { key: 'root_local' }, 'a key of the account is never taken for it');
});
