/** Where a command goes: a key of the environment never follows a local.env of some folder to another machine. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { readCliConfig } from '../../../facades/cli/config.ts';
import { chooseTarget } from '../../../facades/cli/target.ts';

t.test('a local.env that names another machine counts only when it is named', async (t) => {
  const workingDir = t.testdir();
  mkdirSync(join(workingDir, '.slipway'));
  const file = join(workingDir, '.slipway', 'local.env');
  const config = { ...readCliConfig({ SLIPWAY_API_KEY: 'rpa_mine' }), workingDir };
  writeFileSync(file, "SLIPWAY_CORE_ADDRESS='elsewhere.example:50051'\nSLIPWAY_API_KEY='rpa_theirs'\n");
  t.match(chooseTarget(config, {}), { address: /^127\.0\.0\.1:/, apiKey: 'rpa_mine' });
  t.match(chooseTarget(config, { localEnv: file }), { address: 'elsewhere.example:50051', apiKey: 'rpa_mine' });
  writeFileSync(file, "SLIPWAY_CORE_ADDRESS='127.0.0.1:4711'\nSLIPWAY_API_KEY='rpa_theirs'\n");
  t.match(chooseTarget(config, {}), { address: '127.0.0.1:4711', apiKey: 'rpa_mine' });
  t.match(chooseTarget({ ...config, apiKey: undefined }, {}), { address: '127.0.0.1:4711', apiKey: 'rpa_theirs' });
});
