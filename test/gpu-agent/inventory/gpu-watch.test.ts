// test: alone, postgres, 15 s
/**
 * A GPU that the driver no longer lists, or whose memory cannot be repaired, is unhealthy until that changes. A driver
 * that does not answer changes nothing. What else is a sign: health.test.ts.
 */
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GpuWatch } from '@slipway/gpu-agent/inventory/gpu-watch';
import type { XidEvent } from '@slipway/gpu-agent/inventory/health/kernel-log';
import { createLogger } from '@slipway/kit/log/logger';
import { systemRandom } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import t from 'tap';
import { card, report } from '../../helpers/gpu-report.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { readMetrics, valueOf } from '../../helpers/system/metrics.ts';
import { startRealAgent } from '../../helpers/system/real-agent.ts';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const [FIRST, SECOND] = ['GPU-11111111-0000-0000-0000-000000000000', 'GPU-22222222-0000-0000-0000-000000000000'];
const listed = (...uuids: string[]) => uuids.map((uuid, n) => `GPU ${n}: NVIDIA L4 (UUID: ${uuid})\n`).join('');
const health = (...rows: [uuid: string, failure: string][]) =>
  report(...rows.map(([uuid, failure]) => card(uuid, { remapped_row_failure: failure })));

t.test('each change once, and nothing while the driver is silent', async (t) => {
  const folder = t.testdir({
    'nvidia-smi': `#!/bin/sh
case "$1" in
  -L) cat "$(dirname "$0")/list"; ! grep -q lost "$(dirname "$0")/list" ;;
  *) exec cat "$(dirname "$0")/health" ;;
esac`,
  });
  chmodSync(join(folder, 'nvidia-smi'), 0o755);
  const says = (list: string, told: string): void => {
    writeFileSync(join(folder, 'list'), list);
    writeFileSync(join(folder, 'health'), told);
  };
  const before = process.env.PATH;
  t.teardown(() => {
    process.env.PATH = before;
  });
  process.env.PATH = `${folder}:${before}`;
  const gpu = (uuid: string, virtual = false) => ({
    uuid,
    name: 'NVIDIA L4',
    memoryMib: 24_576,
    migProfile: '',
    virtual,
  });
  let changes = 0;
  const watch = new GpuWatch({
    gpus: () => [gpu(FIRST), gpu(SECOND), gpu('VIRTUAL-0', true)],
    onChange: () => {
      changes += 1;
    },
    clock: new ManualClock(),
    random: systemRandom,
    kernelLog: { read: () => [], close: () => undefined },
    logger: createLogger('test', 'silent'),
  });
  const after = async (list: string, told: string) => {
    says(list, told);
    await watch.look();
    return [changes, ...[FIRST, SECOND, 'VIRTUAL-0'].map((uuid) => watch.healthOf(uuid).fault)];
  };
  t.same(await after(listed(FIRST, SECOND), health([FIRST, 'No'], [SECOND, 'No'])), [0, '', '', '']);
  const lost = `${listed(FIRST)}Unable to determine the device handle for GPU1: 0000:3B:00.0: GPU is lost.\n`;
  t.same(await after(lost, health([FIRST, 'No'])), [1, '', 'the driver does not list it any more', '']);
  t.same(
    await after(listed(FIRST), health([FIRST, 'No'])),
    [1, '', 'the driver does not list it any more', ''],
    'no news',
  );
  process.env.PATH = before;
  t.same((await watch.look(), changes), 1, 'a driver that is silent changes nothing');
  process.env.PATH = `${folder}:${before}`;
  t.same(await after(listed(FIRST, SECOND), ''), [2, '', '', ''], 'well again');
});

t.test('without a report of a card its last known health stays', async (t) => {
  const { watch, reports, events } = reportedCards(t);
  const faults = async () => {
    await watch.look();
    return [FIRST, SECOND].map((uuid) => watch.healthOf(uuid).fault);
  };
  const first = (remapped_row_failure: string) => card(FIRST, { remapped_row_failure });
  const second = card(SECOND, {}, '5E');
  const failed = 'rows of its memory failed and could not be replaced (remapped_rows.failure)';
  reports.say(report(first('Yes'), second));
  t.same(await faults(), [failed, '']);
  reports.say(undefined);
  t.same(await faults(), [failed, ''], 'no answer');
  t.equal(reports.changes, 1);
  events.push({ pci: '0000:3b:00', code: 79, mark: 'boot/1' });
  t.match(await faults(), [/; Xid 79: /, ''], 'the kernel log counts all the same');
  reports.say(report(second));
  t.match(await faults(), [/Xid 79/, ''], 'a report without it');
  reports.say(report(first('No')).split('<ecc_errors>')[0]);
  t.match(await faults(), [/rows of its memory/, ''], 'a report that ends in the middle');
  events.length = 0;
  reports.say(report(first('No'), second));
  t.same(await faults(), ['', '']);
});

/** Returns a watch of two listed cards, the report that their driver gives, and the events of the kernel log. */
function reportedCards(t: Test) {
  const folder = t.testdir({
    list: listed(FIRST, SECOND),
    'nvidia-smi': `#!/bin/sh
case "$1" in
  -L) exec cat "$(dirname "$0")/list" ;;
  -q) exec cat "$(dirname "$0")/report" ;;
  *) exit 9 ;;
esac`,
  });
  chmodSync(join(folder, 'nvidia-smi'), 0o755);
  const before = process.env.PATH;
  t.teardown(() => {
    process.env.PATH = before;
  });
  process.env.PATH = `${folder}:${before}`;
  const events: XidEvent[] = [];
  const reports = {
    changes: 0,
    /** The next reports. `undefined`: the command fails. */
    say: (text: string | undefined): void => {
      if (text === undefined) rmSync(join(folder, 'report'));
      else writeFileSync(join(folder, 'report'), text);
    },
  };
  const gpu = (uuid: string) => ({ uuid, name: 'NVIDIA L4', memoryMib: 24_576, migProfile: '', virtual: false });
  const watch = new GpuWatch({
    gpus: () => [gpu(FIRST), gpu(SECOND)],
    onChange: () => {
      reports.changes += 1;
    },
    clock: new ManualClock(),
    random: systemRandom,
    kernelLog: { read: () => events, close: () => undefined },
    logger: createLogger('test', 'silent'),
  });
  return { watch, reports, events };
}

t.test('errors of NVLinks: a warning once they last, and a fault if a recovery failed', async (t) => {
  const { watch, links, after } = linkedCards(t);
  const warnings: string[] = [];
  for (const crc of [7, 8, 9, 10]) warnings.push((await after(crc, 0)).warning);
  t.same(warnings, ['', '', '', 'its NVLinks repair errors all the time']);
  for (let look = 0; look < 10; look += 1) await after(10, 0);
  t.equal(watch.healthOf(FIRST).warning, '', 'no more errors');
  t.equal((await after(10, 1)).fault, 'its NVLinks failed to recover');
  const { changes } = links;
  t.equal((await after(10, 2)).fault, 'its NVLinks failed to recover');
  t.equal(links.changes, changes, 'one more is no change');
  t.equal((await after(0, 0)).fault, '', 'the card was reset');
});

t.test('links that are not reported this time keep their fault, and a row of errors goes on', async (t) => {
  const { watch, links, after } = linkedCards(t);
  const fault = 'its NVLinks failed to recover';
  t.equal((await after(10, 1)).fault, fault);
  links.say(undefined);
  await watch.look();
  t.equal(watch.healthOf(FIRST).fault, fault, 'no answer');
  links.say('');
  await watch.look();
  t.equal(watch.healthOf(FIRST).fault, fault, 'an empty answer');
  t.equal((await after(0, 0)).fault, '', 'the card was reset');
  for (const crc of [1, 2]) await after(crc, 0);
  links.say(undefined);
  await watch.look();
  t.equal((await after(3, 0)).warning, 'its NVLinks repair errors all the time');
});

t.test('links that come up after the agent are found', async (t) => {
  const { watch, links, after } = linkedCards(t);
  links.say('');
  for (let look = 0; look < 10; look += 1) await watch.look();
  t.equal(links.asked(), 1, 'a machine without links is rarely asked');
  t.equal((await after(0, 1)).fault, 'its NVLinks failed to recover');
  await after(0, 1);
  t.equal(links.asked(), 3, 'and one with links at each look');
});

/** Returns a watch of two cards with NVLinks. Errors are those of the first. */
function linkedCards(t: Test) {
  const folder = t.testdir({
    list: listed(FIRST, SECOND),
    health: health([FIRST, 'No'], [SECOND, 'No']),
    asked: '',
    'nvidia-smi': `#!/bin/sh
case "$1" in
  -L) exec cat "$(dirname "$0")/list" ;;
  nvlink) echo >> "$(dirname "$0")/asked"; exec cat "$(dirname "$0")/links" ;;
  *) exec cat "$(dirname "$0")/health" ;;
esac`,
  });
  chmodSync(join(folder, 'nvidia-smi'), 0o755);
  const before = process.env.PATH;
  t.teardown(() => {
    process.env.PATH = before;
  });
  process.env.PATH = `${folder}:${before}`;
  const links = {
    changes: 0,
    /** Next answers of `nvidia-smi nvlink`. `undefined`: the command fails. */
    say: (answer: string | undefined): void => {
      if (answer === undefined) rmSync(join(folder, 'links'), { force: true });
      else writeFileSync(join(folder, 'links'), answer);
    },
    asked: (): number => readFileSync(join(folder, 'asked'), 'utf8').length,
  };
  const gpu = (uuid: string) => ({ uuid, name: 'NVIDIA A100', memoryMib: 40_960, migProfile: '', virtual: false });
  const watch = new GpuWatch({
    gpus: () => [gpu(FIRST), gpu(SECOND)],
    onChange: () => {
      links.changes += 1;
    },
    clock: new ManualClock(),
    random: systemRandom,
    kernelLog: { read: () => [], close: () => undefined },
    logger: createLogger('test', 'silent'),
  });
  const after = async (crc: number, failed: number) => {
    const lines = [FIRST, SECOND].map(
      (uuid, n) =>
        `GPU ${n}: NVIDIA A100 (UUID: ${uuid})\n\t Link 0: CRC Errors: ${n === 0 ? crc : 5}\n` +
        `\t Link 0: Link recovery failed events: ${n === 0 ? failed : 0}\n`,
    );
    links.say(lines.join(''));
    await watch.look();
    t.same([watch.healthOf(SECOND).warning, watch.healthOf(SECOND).fault], ['', ''], 'the other card is well');
    return watch.healthOf(FIRST);
  };
  return { watch, links, after };
}

t.test('a running agent tells core, in a new session', async (t) => {
  const folder = t.testdir({
    both: listed(FIRST, SECOND),
    one: listed(FIRST),
    'nvidia-smi': `#!/bin/sh
here="$(dirname "$0")"
case "$*" in
  -L) if [ -e "$here/asked" ]; then exec cat "$here/one"; fi; touch "$here/asked"; exec cat "$here/both" ;;
  *mig.mode*) printf 'uuid, memory.total [MiB], mig.mode.current\n${FIRST}, 23034 MiB, [N/A]\n${SECOND}, 23034 MiB, [N/A]\n' ;;
esac`,
  });
  chmodSync(join(folder, 'nvidia-smi'), 0o755);
  const before = process.env.PATH;
  t.teardown(() => {
    process.env.PATH = before;
  });
  process.env.PATH = `${folder}:${before}`;
  const core = await startReplicas(t, 1, { SLIPWAY_METRICS_LISTEN: '127.0.0.1:0' });
  await startRealAgent(t, core);
  const gpus = await waitFor('a GPU that is not well', async () => {
    const { machines } = await call(core.clients.machines, 'listMachines', {}, core.rootKey);
    return machines[0]?.machine!.gpus.some(({ unhealthy }) => unhealthy !== '') && machines[0].machine!.gpus;
  });
  t.match(gpus, [
    { uuid: FIRST, unhealthy: '' },
    { uuid: SECOND, unhealthy: 'the driver does not list it any more' },
  ]);
  await waitFor(
    'it to be counted',
    async () =>
      valueOf(await readMetrics(core.replicas[0]!.metrics), 'slipway_core_gpus', { state: 'unhealthy' }) === 1,
  );
  t.equal(valueOf(await readMetrics(core.replicas[0]!.metrics), 'slipway_core_gpus', { state: 'free' }), 1);
});
