// test: postgres, python, 40 s
/**
 * FlashBoot with real workers: the same process goes to standby and resumes, whatever its SDK did meanwhile. Nothing is
 * left of a killed agent.
 */
import { appendFileSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { FlashBootType } from '@slipway/proto/gen/slipway/v1/endpoint';
import t from 'tap';
import { scratch } from '../helpers/scratch.ts';
import type { EndpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler, pythonHandler, skipWithoutPython } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const FIELDS = { flashBootType: FlashBootType.FLASHBOOT, workersMin: 0, idleTimeoutSeconds: 1 };

/** Returns the state of a process in the kernel's words: T when it is stopped. */
const stateOf = (pid: number): string => readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')[0]!;
const isFrozen = (pid: number) => waitFor(`process ${pid} to stand still`, () => stateOf(pid) === 'T', 30_000);
/** Runs a job. Returns the pid of the process that ran it. */
const pidOf = async (jobs: EndpointJobs, note: string): Promise<number> => {
  await jobs.runSync({ note });
  return pids(note).at(-1)!;
};
/** Returns the processes that left a line. */
const pids = (note: string): number[] =>
  readFileSync(note, 'utf8')
    .trim()
    .split('\n')
    .map((line) => Number(line.split(' ').at(-1)));

/** Returns the number of bytes that have arrived at a process and are unread. */
function unread(pid: number): number {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).map(
      (file) => /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${file}`))?.[1],
    ),
  );
  const rows = readFileSync(`/proc/${pid}/net/tcp`, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  return rows.filter((row) => sockets.has(row[9])).reduce((sum, row) => sum + Number(`0x${row[4]!.split(':')[1]!}`), 0);
}

const HOURS = 3;
const KINDS = [
  { name: 'JavaScript', command: jsHandler('all.js'), skip: false as const, hours: 0 },
  {
    name: `Python, new SDK, for ${HOURS} hours`,
    command: pythonHandler('new', 'late.py'),
    skip: skipWithoutPython('new'),
    hours: HOURS,
  },
  { name: 'Python, old SDK', command: pythonHandler('old', 'all.py'), skip: skipWithoutPython('old'), hours: 0 },
];

t.test(
  'the same process, frozen and woken',
  { skip: process.platform === 'linux' ? false : 'reads /proc' },
  async (t) => {
    const system = await startSystem(t);
    t.jobs = KINDS.length;
    for (const { name, command, skip, hours } of KINDS) {
      t.test(name, { skip }, async (t) => {
        const { path } = await scratch(t);
        const [note, late] = [path('note'), path('late')];
        const jobs = endpointJobs(
          system,
          await system.createEndpoint({ command, fields: FIELDS, ready: 0, workersMax: 1, env: { LATE: late } }),
        );
        const pid = await pidOf(jobs, note);
        await isFrozen(pid);
        t.match(
          await waitFor('health to show it', async () => {
            const health = (await jobs.health()) as { workers: Record<string, number> };
            return health.workers.standby === 1 && health;
          }),
          { workers: { idle: 0, running: 0, ready: 0 } },
        );
        if (hours > 0) {
          // Its agent does not keep a poll for so long; that it was answered is the first thing the worker hears, and
          // all of its waits are over.
          await waitFor('the answer to its poll', () => unread(pid) > 0, 40_000);
          appendFileSync(late, 'x'.repeat(hours));
        }
        t.equal(await pidOf(jobs, note), pid, 'woken, not started anew');
        await isFrozen(pid);
        // Many at once: the worker is resumed once, and all jobs are served.
        const ids = await Promise.all(Array.from({ length: 20 }, () => jobs.run({ note })));
        for (const id of ids) await jobs.reached(id, 'COMPLETED', 30_000);
        t.strictSame(new Set(pids(note)), new Set([pid]), 'all by the one that was woken');
        t.equal(pids(note).length, 22);
      });
    }
  },
);

t.test(
  'frozen workers end with their agent',
  { skip: process.platform === 'linux' ? false : 'reads /proc' },
  async (t) => {
    const system = await startSystem(t, { agents: 0 });
    const agent = await system.startAgent();
    const endpointId = await system.createEndpoint({ command: jsHandler('all.js'), fields: FIELDS, ready: 0 });
    const pid = await pidOf(endpointJobs(system, endpointId), (await scratch(t)).path('note'));
    await isFrozen(pid);
    await agent.stop();
    t.throws(() => process.kill(pid, 0), 'an agent that stops thaws it so that it can end');
  },
);
