/** `slipway doctor`: each line says what was found and what to do, and the exit code tells whether something fails. */
import { mkdirSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { engineFindings } from '@slipway/cli/doctor/engine-check';
import { gpuFindings } from '@slipway/cli/doctor/gpu-checks';
import {
  addressCheck,
  cgroupCheck,
  diskChecks,
  memoryCheck,
  mtuCheck,
  portCheck,
} from '@slipway/cli/doctor/host-checks';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { commandLine } from './command-line.ts';

t.test('a machine without a way to core', async (t) => {
  const cli = commandLine(t, {});
  const { code, stdout } = await cli.run('doctor', 'agent', '--join', '127.0.0.1:1', '--containers', 'none', '--json');
  const { ok, checks } = JSON.parse(stdout) as {
    ok: boolean;
    checks: { check: string; status: string; fix: string }[];
  };
  t.same([code, ok], [1, false]);
  const of = (name: string) => checks.find(({ check }) => check === name);
  t.match(of('core'), { status: 'fail', detail: /127\.0\.0\.1:1: ECONNREFUSED/, fix: /Start core there/ });
  for (const name of ['DNS', 'disk', 'memory', 'cgroups', 'MTU', 'addresses', 'engine', 'disk sync'])
    t.ok(of(name), `${name} is checked`);
  for (const { status, fix, check } of checks)
    t.equal(fix === '', status === 'ok', `${check}: a fix for what is not ok`);
  t.match(await cli.run('doctor', '--core', 'nosuch.invalid:1'), {
    code: 1,
    stdout: /^fail {2}DNS .*\n +→ Correct the name/,
  });
  t.match(await cli.run('doctor', 'agents'), { code: 2, stderr: /Allowed choices are agent, core, facade, edge/ });
});

t.test('the disk, memory, control groups and networks of a machine', async (t) => {
  const folder = t.testdir();
  t.match(diskChecks(join(folder, 'not', 'there'), systemClock), [
    { check: 'disk', detail: /GiB free/ },
    { check: 'disk sync' },
  ]);
  t.match(memoryCheck('MemTotal: 16777216 kB\nMemAvailable: 8388608 kB'), {
    status: 'ok',
    detail: '8.0 of 16.0 GiB can be had',
  });
  t.match(memoryCheck('MemTotal: 16777216 kB\nMemAvailable: 83886 kB'), { status: 'warn' });
  t.match(memoryCheck(''), { status: 'warn', detail: /not known/ });
  const groups = (controllers: string) => {
    writeFileSync(join(folder, 'cgroup.controllers'), controllers);
    return cgroupCheck(folder);
  };
  t.match(groups('cpuset cpu io memory pids'), { status: 'ok' });
  t.match(groups('cpu io'), { status: 'warn', detail: 'without memory, pids' });
  t.match(cgroupCheck(join(folder, 'none')), { status: 'warn', detail: /version 1/ });
  const network = (name: string, mtu: number, kind: string) => {
    mkdirSync(join(folder, name, kind), { recursive: true });
    writeFileSync(join(folder, name, 'mtu'), `${mtu}\n`);
    return mtuCheck(folder);
  };
  t.match(network('eth0', 1_500, 'device'), { status: 'ok', detail: 'eth0 1500' });
  t.match(network('docker0', 1_500, 'bridge'), { status: 'ok' });
  t.match(network('eth0', 1_450, 'device'), {
    status: 'warn',
    detail: 'eth0 1450, but docker0 1500',
    fix: /"mtu": 1450/,
  });
  t.match(network('eth0', 576, 'device'), { status: 'fail' });
  t.match(addressCheck({}), { status: 'warn' });
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => {
    server.once('listening', resolve);
  });
  t.teardown(() => server.close());
  t.match(await portCheck('core', '127.0.0.1', (server.address() as AddressInfo).port), {
    status: 'warn',
    detail: /in use/,
  });
});

t.test('GPUs as nvidia-smi answers, and engines as they describe themselves', async (t) => {
  const gpus = [
    '0, NVIDIA L4, 23034, 570.86.15, Enabled, [N/A], 0',
    '1, NVIDIA L4, 23034, 570.86.15, Disabled, Enabled, 3',
    '',
  ].join('\n');
  const { findings, count } = gpuFindings(gpus, 3);
  t.equal(count, 2);
  t.match(findings, [
    { check: 'driver', detail: '570.86.15' },
    { check: 'GPUs', status: 'fail', detail: 'the driver lists 2 of 3' },
    { check: 'persistence mode', status: 'warn', detail: /off on GPU 1/, fix: /nvidia-smi -pm 1/ },
    { check: 'MIG', status: 'ok', detail: /on GPU 1/ },
    { check: 'GPU memory', status: 'fail', detail: /on GPU 1/ },
  ]);
  t.match(gpuFindings(gpus, 2).findings[1], { status: 'ok', detail: '2 × NVIDIA L4 (23034 MiB)' });
  const engine = { ServerVersion: '27.0', MemoryLimit: true, PidsLimit: false, SecurityOptions: ['name=rootless'] };
  t.match(engineFindings('/run/x.sock', engine, false), [
    { status: 'warn', detail: /rootless cannot limit processes/ },
  ]);
  t.match(engineFindings('/run/x.sock', {}, true), [{ status: 'ok' }, { check: 'engine GPUs', status: 'fail' }]);
  t.equal(engineFindings('/run/x.sock', { Runtimes: { nvidia: {} } }, true).length, 1);
  t.equal(engineFindings('/run/x.sock', { CDISpecDirs: ['/etc/cdi'] }, true).length, 1);
});
