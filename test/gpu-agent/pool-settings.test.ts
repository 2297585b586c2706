/** What a machine takes from its pool: after the options of its agent, before defaults, and over restarts. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readAgentConfig } from '@slipway/gpu-agent/config';
import { PoolSettings } from '@slipway/gpu-agent/identity/pool-settings';
import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';

/** Returns the settings of an agent with these variables, and how often they changed. */
function agentWith(dataDir: string, env: Record<string, string> = {}) {
  const config = readAgentConfig({ SLIPWAY_CORE_ADDRESS: '127.0.0.1:1', SLIPWAY_AGENT_KEY: 'rpa_x', ...env }, false);
  let changes = 0;
  const logger = createLogger('test', 'silent');
  const settings = new PoolSettings({
    ...{ ...config, dataDir, logger },
    onChanged: () => {
      changes += 1;
    },
  });
  return { settings, changes: () => changes };
}

t.test('defaults, then the pool, then the options of the agent', async (t) => {
  const { settings } = agentWith(t.testdir({}), { SLIPWAY_STANDBY_MAX: '2', SLIPWAY_MODEL_DISK_GB: '0' });
  t.match(settings, { standbyMax: 2, imageDiskGb: 0, modelDiskGb: 0 });
  settings.apply({ standbyMax: 9, imageDiskGb: 7, modelDiskGb: 8, standbyMemoryGb: 0 });
  t.match(settings, { standbyMax: 2, modelDiskGb: 0 }, 'an option of this agent precedes');
  t.match(settings, { imageDiskGb: 7, standbyMemoryGb: 0 });
  settings.apply({});
  t.equal(settings.imageDiskGb, 0, 'the pool sets nothing any more');
});

t.test('kept over restarts, and while core does not know pools', async (t) => {
  const folder = t.testdir({});
  const first = agentWith(folder);
  t.equal(first.settings.modelDiskGb, undefined);
  first.settings.apply({ modelDiskGb: 500 });
  first.settings.apply({ modelDiskGb: 500, standbyMax: undefined });
  t.equal(first.changes(), 1, 'the same again is no change');
  const next = agentWith(folder);
  t.equal(next.settings.modelDiskGb, 500, 'before core is reached');
  next.settings.apply(undefined);
  next.settings.apply({ modelDiskGb: 500 });
  t.equal(next.changes(), 0, 'the session stays');
  t.equal(next.settings.modelDiskGb, 500);
});

t.test('a folder that cannot be written', async (t) => {
  const folder = t.testdir({});
  mkdirSync(join(folder, 'pool-settings.json'));
  const { settings, changes } = agentWith(folder);
  settings.apply({ imageDiskGb: 3 });
  t.equal(settings.imageDiskGb, 3, 'counts until the next start');
  t.equal(changes(), 1);
});

t.test('a damaged file', async (t) => {
  const folder = t.testdir({});
  const kept = (text: string) => {
    writeFileSync(join(folder, 'pool-settings.json'), text);
    return agentWith(folder).settings;
  };
  for (const text of ['', 'null', '7', '{"imageDiskGb":']) t.equal(kept(text).imageDiskGb, 0, text);
  t.match(kept('{"imageDiskGb":7,"standbyMax":"9","standbyMemoryGb":-1,"modelDiskGb":0.5}'), {
    ...{ imageDiskGb: 7, standbyMax: 4, modelDiskGb: undefined },
    standbyMemoryGb: agentWith(join(folder, 'none')).settings.standbyMemoryGb,
  });
});

t.test('a node of Kubernetes keeps no worker on standby', async (t) => {
  const { settings } = agentWith(t.testdir({}), {
    SLIPWAY_KUBERNETES: 'true',
    SLIPWAY_KUBERNETES_NODE: 'node-0',
    SLIPWAY_KUBERNETES_HOST_IP: '10.0.0.1',
  });
  settings.apply({ standbyMax: 4, standbyMemoryGb: 8, modelDiskGb: 5 });
  t.match(settings, { standbyMax: 0, standbyMemoryGb: 0, modelDiskGb: 5 });
});
