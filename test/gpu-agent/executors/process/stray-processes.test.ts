/**
 * Nothing of a workload lives on: neither what has a session and an environment of its own, nor what outlived guard and
 * agent. By control groups and, where an agent may make none, by links and marks.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { WorkloadExit } from '@slipway/gpu-agent/executors/executor';
import { ProcessExecutor } from '@slipway/gpu-agent/executors/process/process-executor';
import { readHierarchies, WorkloadCgroups } from '@slipway/gpu-agent/executors/process/workload-cgroups';
import { systemClock } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import t from 'tap';
import { quietPort } from '../../../helpers/net/ports.ts';
import { NO_LIMITS } from '../../../helpers/no-limits.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import { PLAIN } from './start-process.ts';

const run = promisify(execFile);
const linux = process.platform === 'linux' ? false : 'reads /proc';
const PATH = process.env.PATH ?? '/usr/bin:/bin';
/** Port that nothing else takes once a server has ended. One server runs at a time. */
const PORT = await quietPort();
const SERVER =
  `require("http").createServer((_, r) => r.end("x")).listen(${PORT}, "127.0.0.1", function () { ` +
  'console.log(process.pid, this.address().port); })';
let machines = 0;

const isRunning = (pid: number): boolean =>
  existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

/** Returns an executor with its own machine id. `how`: with control groups or without. */
function makeExecutor(how: 'cgroups' | 'none', machineId = `test${process.pid}x${(machines += 1)}`) {
  const cgroups =
    how === 'none'
      ? new WorkloadCgroups(() => machineId, systemClock, [])
      : new WorkloadCgroups(() => machineId, systemClock);
  return { machineId, executor: new ProcessExecutor(systemClock, () => machineId, cgroups) };
}

/** This test may make control groups. */
function makesGroups(): boolean {
  const child = spawn('sleep', ['1000']);
  const group = new WorkloadCgroups(() => `probe${process.pid}`, systemClock).take(child.pid!, 'probe');
  child.kill('SIGKILL');
  void group?.end();
  return group !== undefined;
}

const ways = linux ? [] : [...(makesGroups() ? ['cgroups' as const] : []), 'none' as const];

/** Starts a shell script and gives the numbers in its first line. */
async function start(how: 'cgroups' | 'none', script: string) {
  const { executor } = makeExecutor(how);
  let text = '';
  const workload = executor.start({
    ...PLAIN,
    command: ['sh', '-c', script],
    workingDirectory: '/',
    env: { PATH },
    onOutput: (bytes) => {
      text += String(bytes);
    },
  });
  const numbers = await waitFor('its numbers', () => /^[\d ]+\n/.exec(text)?.[0].trim().split(' ').map(Number));
  return { workload, numbers };
}

const HIDDEN = `env -i PATH="$PATH" setsid ${process.execPath} -e '${SERVER}'`;

for (const how of ways) {
  t.test(`a child with a session and an environment of its own ends with its workload, ${how}`, async (t) => {
    for (const end of ['kill', 'stop'] as const) {
      const {
        workload,
        numbers: [pid, port],
      } = await start(how, `${HIDDEN} & wait`);
      t.ok(isRunning(pid!));
      workload[end]();
      await workload.ended;
      // Killed with its workload; the kernel may take a moment more.
      await waitFor(`its child to be gone after ${end}`, () => !isRunning(pid!));
      await portIsFree(t, port!);
    }
  });

  t.test(`the next agent ends an HTTP server whose guard and agent were killed, ${how}`, async (t) => {
    const { executor, machineId } = makeExecutor(how);
    const parent = spawn(
      process.execPath,
      [join(import.meta.dirname, 'guarded-parent.ts'), '0', machineId, how === 'none' ? 'no' : 'yes', SERVER],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const [first] = (await once(parent.stdout, 'data')) as [Buffer];
    const [pid, port] = String(first).trim().split(' ').map(Number) as [number, number];
    for (const guard of guardsOf(pid)) process.kill(guard, 'SIGKILL');
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    t.ok(isRunning(pid), 'nobody is there to end it');
    t.equal(await makeExecutor(how, `${machineId}y`).executor.sweep(), 0, 'another machine leaves it alone');
    t.ok(isRunning(pid));
    t.ok((await executor.sweep()) > 0);
    await waitFor('its end', () => !isRunning(pid));
    await portIsFree(t, port);
    t.equal(await executor.sweep(), 0);
  });

  t.test(`an agent without a free file descriptor ends what left the group once it has one, ${how}`, async (t) => {
    const program = join(import.meta.dirname, 'strays-out-of-files.ts');
    const script = 'ulimit -n 128 && exec "$0" "$@"';
    const { stdout } = await run('/bin/sh', ['-c', script, process.execPath, program, how]);
    const { stray, endedEarly, ...lists } = JSON.parse(stdout) as { stray: number; endedEarly: boolean };
    t.teardown(() => isRunning(stray) && process.kill(stray, 'SIGKILL'));
    if (how === 'none') t.notOk(endedEarly, 'its GPU stays taken');
    await waitFor('its end', () => !isRunning(stray));
    t.match(lists, { walk: /EMFILE/, seen: /EMFILE/ }, 'a part of the processes is not returned');
    const groups = how === 'none' ? { swept: 0 } : { swept: /EMFILE/, counted: /EMFILE/ };
    t.match(lists, groups, 'groups that cannot be read are not taken for none');
  });
}

const grouped = { skip: ways.includes('cgroups') ? false : 'makes no control groups' };

t.test('children of an ended workload are stopped, another workload continues', grouped, async (t) => {
  const other = await start('cgroups', 'echo $$; exec sleep 1000');
  const {
    workload,
    numbers: [pid],
  } = await start('cgroups', `${HIDDEN} & sleep 1`);
  await workload.ended;
  t.notOk(isRunning(pid!));
  t.ok(isRunning(other.numbers[0]!));
  other.workload.kill();
  await other.workload.ended;
  const groups = readHierarchies()
    .flatMap(({ own }) => readdirSync(own))
    .filter((name) => name.startsWith(`slipway-test${process.pid}x`));
  t.same(groups, [], 'no empty group stays');
});

const memory = readHierarchies().find(({ controllers }) => controllers.includes('memory'));

const counted = { skip: grouped.skip || (memory ? false : 'needs a control group of memory') };

t.test('a workload out of memory is distinguished from a killed one', counted, async (t) => {
  const { executor, machineId } = makeExecutor('cgroups');
  const run = async (script: string): Promise<WorkloadExit> => {
    const workload = executor.start({
      workloadId: 'w',
      user: undefined,
      entrypoint: [],
      image: undefined,
      mounts: [],
      gpus: [],
      limits: NO_LIMITS,
      command: ['sh', '-c', script],
      workingDirectory: '/',
      env: { PATH },
      onOutput: () => undefined,
    });
    const parent = join(memory!.own, `slipway-${machineId}`);
    const folder = readdirSync(parent).find((name) => name.startsWith('w.'))!;
    writeFileSync(join(parent, folder, 'memory.limit_in_bytes'), String(64 << 20));
    return workload.ended;
  };
  t.match(await run('sleep 0.2; exec python3 -c "a = bytearray(300 << 20)"'), { signal: 'SIGKILL', outOfMemory: true });
  t.notOk((await run('kill -9 $$')).outOfMemory);
});

/** Returns the guards: shells beside the leader of a process group that wait for the end of its agent. */
function guardsOf(leader: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return (
          pid !== leader &&
          Number(
            readFileSync(`/proc/${pid}/stat`, 'utf8')
              .replace(/^.*\) /, '')
              .split(' ')[2],
          ) === leader
        );
      } catch {
        return false;
      }
    });
}

async function portIsFree(t: Test, port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  server.close();
  t.pass('its port is free');
}
