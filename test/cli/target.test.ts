/** Where a command goes: a key of the environment never follows a local.env of some folder to another machine. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCliConfig } from '@slipway/cli/config';
import { changeContexts } from '@slipway/cli/context-file';
import { chooseTarget } from '@slipway/cli/target';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
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

t.test("the operator's key beside local.env is sent to that core only", async (t) => {
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

t.test('precedence: options, environment, context, npm start', async (t) => {
  const workingDir = t.testdir();
  mkdirSync(join(workingDir, '.slipway'));
  writeFileSync(
    join(workingDir, '.slipway', 'local.env'),
    "SLIPWAY_CORE_ADDRESS='127.0.0.1:4711'\nSLIPWAY_API_KEY='rpa_local'\n",
  );
  const config = { ...readCliConfig({ XDG_CONFIG_HOME: workingDir }), workingDir };
  const lab = { core: 'lab.example:1', coreCa: `sha256:${'a'.repeat(64)}`, key: 'rpa_lab', rootKey: 'root_lab' };
  const stored = {
    current: 'lab',
    contexts: { lab, home: { core: 'home.example:2', key: 'rpa_home', endpoint: 'e1' } },
  };
  const parts = { clock: systemClock, random: systemRandom, stopping: new AbortController().signal };
  await changeContexts({ config, ...parts }, () => stored);
  const of = (options = {}, more = {}) => chooseTarget({ ...config, ...more }, options);
  t.match(of(), {
    address: 'grpcs://lab.example:1',
    context: 'lab',
    isUsual: true,
    user: { key: 'rpa_lab', source: 'of the context lab' },
    operator: { key: 'root_lab' },
    tls: { caDigests: [/./] },
  });
  t.match(of({ context: 'home' }), {
    address: 'home.example:2',
    isUsual: false,
    endpointId: 'e1',
    tls: { caFile: '' },
  });
  t.match(of({}, { context: 'home' }), { address: 'home.example:2', user: { key: 'rpa_home' } }, 'SLIPWAY_CONTEXT');
  t.match(of({ context: 'local' }), { address: '127.0.0.1:4711', context: undefined, user: { key: 'rpa_local' } });
  const env = { coreAddress: 'env.example:3', apiKey: 'rpa_env' };
  t.match(of({}, env), { address: 'env.example:3', user: { key: 'rpa_env' }, tls: { caDigests: undefined } });
  t.match(of({}, { coreAddress: 'env.example:3' }), { user: { key: undefined, hint: /belongs to lab\.example:1/ } });
  t.match(of({ context: 'home' }, env), { address: 'home.example:2', user: { key: 'rpa_home' } }, 'an option');
  t.match(
    of({ core: 'other.example:4' }),
    { user: { key: undefined }, operator: { key: undefined } },
    'no key goes elsewhere',
  );
  t.throws(() => of({ context: 'nosuch' }), { message: /There is no context "nosuch"; there are: lab, home/ });
  chmodSync(config.contextFile!, 0o640);
  t.throws(() => of(), { message: /open to other users.*chmod 600/ });
  writeFileSync(config.contextFile!, '{"contexts":{"lab":{}}}', { mode: 0o600 });
  chmodSync(config.contextFile!, 0o600);
  t.throws(() => of(), { message: /is not a file of contexts/ });
  t.match(of({ context: 'local' }), { address: '127.0.0.1:4711' }, 'the way out of a broken file');
});
