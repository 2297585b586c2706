// test: postgres, 40 s
/** kill -9 of all processes at once, as when the power fails, and results that only the agent's disk holds. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { startProcesses } from '../helpers/system/processes.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import { checkOutcomes, checkRestart, startJobs } from './jobs-in-flight.ts';

t.setTimeout(600_000);

t.test('a kill of all processes at once loses no acknowledged job', async (t) => {
  const slipway = await startProcesses(t);
  const all = [...slipway.agents, slipway.facade, ...slipway.cores, slipway.database];
  const inFlight = await startJobs(t, slipway);
  await Promise.all(all.map((child) => child.kill()));
  await Promise.all(all.map((child) => child.start()));
  await checkOutcomes(t, inFlight);
  await checkRestart(t, slipway, all, { withinMs: 10_000 });
});

t.test("results on the agent's disk survive a kill of agent and core", async (t) => {
  const slipway = await startProcesses(t);
  const [[core], [agent]] = [slipway.cores, slipway.agents];
  const inFlight = await startJobs(t, slipway);
  await core!.kill();
  // The worker goes on with what it holds. Its results reach the agent's disk and nothing else.
  const done = await waitFor('results on the disk that core has not seen', async () => {
    const spool = join(slipway.folder, 'agent-1', 'spool');
    const files = await Promise.all((await readdir(spool)).map((name) => readFile(join(spool, name), 'latin1')));
    const stored = await inFlight.storedMarks();
    const kept = (await inFlight.readNotes()).filter(
      (note) => !stored.has(note.mark) && files.some((text) => text.includes(note.mark)),
    );
    return kept.length > 0 && kept;
  });
  await agent!.kill();
  await Promise.all([core!.start(), agent!.start()]);
  await checkOutcomes(t, inFlight);
  const stored = await inFlight.storedMarks();
  t.same(
    done.filter((note) => !stored.has(note.mark)),
    [],
    `${done.length} results from the disk became the jobs' outcomes`,
  );
});
