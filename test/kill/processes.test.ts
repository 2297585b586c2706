// test: postgres, 70 s
/**
 * kill -9 of each process in turn, and of all at once, while jobs are in flight and clients go on submitting: no
 * acknowledged job is lost. One system serves all of it.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import t from 'tap';
import type { Child } from '../helpers/child.ts';
import { startProcesses } from '../helpers/system/processes.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import { checkOutcomes, reportRecovery, startJobs } from './jobs-in-flight.ts';
import { runsyncKills } from './runsync-kills.ts';

t.setTimeout(600_000);

/** Jobs that are submitted while a process is away. */
const MORE = 20;

const slipway = await startProcesses(t, { cores: 2 });
const { agents, cores, database, facade } = slipway;
const agent = agents[0]!;

/** Kills processes while jobs are in flight, starts them again and checks that none of the jobs is lost. */
async function killAndCheck(t: Test, children: readonly Child<unknown>[]): Promise<void> {
  const inFlight = await startJobs(t, slipway);
  const more = inFlight.submit(MORE);
  await Promise.all(children.map((child) => child.kill()));
  await Promise.all(children.map((child) => child.start()));
  await more;
  await checkOutcomes(t, inFlight);
  await reportRecovery(t, slipway, 'the restart', Math.min(...children.map(({ startedAtMs }) => startedAtMs)));
}

/** Returns the core that has the machine's session. */
async function coreOfMachine(): Promise<Child<unknown>> {
  const [row] = await slipway.sql<{ address: string }[]>`SELECT replica_address AS address FROM machine`;
  return cores[slipway.coreAddresses.indexOf(row!.address)]!;
}

t.test('a killed worker loses no acknowledged job', async (t) => {
  const inFlight = await startJobs(t, slipway);
  const killedAtMs = Date.now();
  const [note] = await inFlight.readNotes();
  process.kill(note!.pid, 'SIGKILL');
  await inFlight.submit(MORE);
  await checkOutcomes(t, inFlight);
  await reportRecovery(t, slipway, 'the kill', killedAtMs);
});

t.test('a killed agent loses no acknowledged job', (t) => killAndCheck(t, [agent]));

t.test('a killed PostgreSQL loses no acknowledged job', (t) => killAndCheck(t, [database]));

t.test('a killed facade loses no acknowledged job', async (t) => {
  const inFlight = await startJobs(t, slipway);
  const more = inFlight.submit(MORE);
  await facade.kill();
  await t.rejects(inFlight.jobs.health(), 'connection refused');
  await facade.start();
  const input = { number: -1, ms: 0, gate: inFlight.folder, notes: join(inFlight.folder, 'other-notes') };
  t.match(await inFlight.jobs.runSync(input), { status: 'COMPLETED' });
  await more;
  await checkOutcomes(t, inFlight, 1);
  await reportRecovery(t, slipway, 'the restart', facade.startedAtMs);
});

t.test('one killed core of two, which has the machine, loses no acknowledged job', async (t) => {
  const inFlight = await startJobs(t, slipway);
  const more = inFlight.submit(MORE);
  const core = await coreOfMachine();
  const killedAtMs = Date.now();
  await core.kill();
  await more;
  await checkOutcomes(t, inFlight);
  await reportRecovery(t, slipway, 'the kill', killedAtMs);
  await core.start();
});

t.test('when no core is left, no acknowledged job is lost', (t) => killAndCheck(t, cores));

t.test("results on the agent's disk survive a kill of agent and cores", async (t) => {
  const inFlight = await startJobs(t, slipway);
  await Promise.all(cores.map((core) => core.kill()));
  // The worker continues with what it holds. Its results reach only the agent's disk.
  const done = await waitFor('results on the disk that core has not seen', async () => {
    const spool = join(slipway.folder, 'agent-1', 'spool');
    const files = await Promise.all((await readdir(spool)).map((name) => readFile(join(spool, name), 'latin1')));
    const stored = await inFlight.storedMarks();
    const kept = (await inFlight.readNotes()).filter(
      (note) => !stored.has(note.mark) && files.some((text) => text.includes(note.mark)),
    );
    return kept.length > 0 && kept;
  });
  await agent.kill();
  await Promise.all([...cores, agent].map((child) => child.start()));
  await checkOutcomes(t, inFlight);
  const stored = await inFlight.storedMarks();
  t.same(
    done.filter((note) => !stored.has(note.mark)),
    [],
    `${done.length} results from the disk became the jobs' outcomes`,
  );
});

t.test('a kill of all processes at once loses no acknowledged job', (t) =>
  killAndCheck(t, [agent, facade, ...cores, database]),
);

t.test('a kill at a step of a /runsync loses no answer, and no answer changes', async (t) => {
  const killAt = await runsyncKills(slipway);
  const victims: [string, () => Promise<Child<unknown> | undefined>][] = [
    ['the core with the machine', coreOfMachine],
    ['the agent', async () => agent],
    ['the worker', async () => undefined],
    ['the facade', async () => facade],
    ['PostgreSQL', async () => database],
  ];
  for (const [name, victim] of victims) {
    t.comment(`${name}, when the handler begins`);
    await killAt(t, await victim(), { when: 'begin', ms: 0 });
    t.comment(`${name}, while the outcome is stored or answered`);
    await killAt(t, await victim(), { when: 'end', ms: 3 });
  }
  t.comment('the agent, when the handler has ended');
  await killAt(t, agent, { when: 'end', ms: 0 });
});
