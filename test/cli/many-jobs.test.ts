// test: postgres, 10 s
/**
 * `slipway cancel` and `slipway retry` against a whole system: what they ask, what they find, and going on after a cut.
 */
import t from 'tap';
import { jobRows } from '../helpers/db/job-rows.ts';
import { scratch } from '../helpers/scratch.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';
import { commandLine } from './command-line.ts';

t.setTimeout(600_000);

t.test('many jobs', async (t) => {
  const system = await startSystem(t);
  const files = await scratch(t);
  const { sql } = jobRows(t, system.database.url);
  const command = jsHandler('all.js');
  const parked = endpointJobs(
    system,
    await system.createEndpoint({ command, fields: { name: 'parked', workersMin: 0 }, workersMax: 0 }),
  );
  const served = endpointJobs(
    system,
    await system.createEndpoint({ command, fields: { name: 'served' }, workersMax: 1 }),
  );
  const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: system.cores[0]!.address, SLIPWAY_API_KEY: system.key });
  const submit = (count: number): Promise<string[]> => Promise.all(Array.from({ length: count }, () => parked.run({})));

  await t.test('asks once, and says how many', async (t) => {
    await submit(7);
    const question = /^Cancel 7 jobs of parked\? Type y, then Enter; with --yes nothing is asked\.\n/;
    t.match(await cli.run('cancel', 'parked'), {
      code: 2,
      stdout: '',
      stderr: /no terminal to ask for confirmation, so nothing was changed/,
    });
    t.match(await cli.runWith('n\n', 'cancel', 'parked'), {
      code: 0,
      stdout: '',
      stderr: new RegExp(`${question.source}Nothing was changed\\.\n$`),
    });
    t.match(await cli.runWith('yesterday\n', 'cancel', 'parked'), { stderr: /Nothing was changed/ });
    await parked.counted({ inQueue: 7 });
    t.match(await cli.runWith('y\nmore', 'cancel', 'parked'), {
      code: 0,
      stdout: '7 jobs cancelled.\n',
      stderr: question,
    });
    await parked.counted({ inQueue: 0 });
    t.same(await cli.json('cancel', 'parked', '--yes'), { done: 0, left: {} }, 'as HTTP names it');
  });

  await t.test('by state and time', async (t) => {
    const ids = await submit(5);
    await sql`UPDATE job SET submitted_at = '2026-01-31 12:00:00+00' WHERE id = ANY(${ids.slice(0, 2)})`;
    t.match(await cli.json('cancel', 'parked', '--state', 'in-progress', '-y'), { done: 0 });
    t.match(await cli.json('cancel', 'parked', '--from', '2026-01-31', '--to', '2026-02-01', '-y'), { done: 2 });
    t.match(await cli.json('cancel', 'parked', '--state', 'IN_QUEUE', '--since', '1h', '-y'), { done: 3 });
    t.match(await cli.run('cancel', 'parked', '--state', 'failed', '-y'), {
      code: 2,
      stderr: /must be one of in-queue, in-progress/,
    });
    t.match(await cli.run('cancel', 'parked', '--since', '1h', '--from', '2026-01-31', '-y'), {
      code: 2,
      stderr: /either --since or --from/,
    });
    t.match(await cli.run('cancel', 'parked', '--from', '2026-01-31', '--to', '2026-01-30', '-y'), {
      code: 1,
      stderr: /submitted_until must be after/,
    });
    t.match(await cli.run('retry', 'nobody', '-y'), {
      code: 1,
      stderr: /no endpoint named "nobody"; there are: parked, served\.\n/,
    });
  });

  await t.test('an endpoint whose name has the form of an id', async (t) => {
    const fields = { name: 'transcription1', workersMin: 0 };
    const id = await system.createEndpoint({ command, fields, ready: 0, workersMax: 0 });
    t.match(await cli.json('endpoints', 'get', 'transcription1'), { id });
    t.match(await cli.run('endpoints', 'get', 'transcription2'), { code: 1, stderr: /^error: ENDPOINT_NOT_FOUND: / });
  });

  await t.test('more jobs than one call takes', async (t) => {
    // As many as a queue of no workers does not take by itself.
    await sql`
      INSERT INTO job (endpoint_id, id, state, low_priority, execution_timeout_ms, retention_ms, submitted_at,
        ttl_deadline_at, expires_at)
      SELECT ${parked.id}, 'j' || i, 'IN_QUEUE', false, 600000, 1800000, now(), now() + interval '1 day',
        now() + interval '1 day'
      FROM generate_series(1, 12345) AS i`;
    const { code, stdout, stderr } = await cli.runWith('y\n', 'cancel', 'parked');
    t.match([code, stdout], [0, '12345 jobs cancelled.\n']);
    t.match(stderr, /^Cancel at least 10000 jobs of parked\?/, 'what is counted in no time');
    t.match(stderr, /^at least 10000 jobs: cancelled$/m, 'how it goes on');
  });

  await t.test('retry runs failed ones again', async (t) => {
    const failing = await Promise.all(
      Array.from({ length: 3 }, () => served.run({ mode: 'fail-then', file: files.path('works'), value: 'at last' })),
    );
    for (const id of failing) t.match(await served.settled(id), { status: 'FAILED' });
    files.open('works');
    const told = await cli.runWith('Yes\n', 'retry', 'served', '--state', 'failed');
    t.match(told, { stdout: '3 jobs queued again.\n', stderr: /^Queue again 3 jobs of served\?/ });
    for (const id of failing) t.match(await served.settled(id), { status: 'COMPLETED', output: 'at last' });
  });

  await t.test('retry runs those of one group of errors again', async (t) => {
    const messages = ['card 1 is too small', 'the disk is full', 'card 2 is too small'];
    const ids = await Promise.all(messages.map((message) => served.run({ mode: 'throw', message })));
    for (const id of ids) t.match(await served.settled(id), { status: 'FAILED' });
    const { groups } = await cli.json<{ groups: { id: string; text: string; jobs: number }[] }>('errors', 'served');
    const { id: group } = groups.find(({ text }) => text.includes('card #'))!;
    const told = await cli.runWith('n\n', 'retry', 'served', '--error-group', group);
    t.match(told, { stderr: new RegExp(`^Queue again 2 jobs of group ${group} of served\\?`) });
    const part = await cli.runWith('n\n', 'retry', 'served', '--error-group', group, '--since', '1h');
    t.match(part, { stderr: /^Queue again the matching jobs of 2 jobs of group/ });
    t.match(await cli.json('retry', 'served', '--error-group', group, '--to', '2026-01-31', '-y'), {
      done: 0,
      left: {},
    });
    t.match(await cli.json('retry', 'served', '--error-group', group, '-y'), { done: 2, left: {} });
    for (const bad of ['', 'x', group.toUpperCase().replace(/^./, 'A')]) {
      t.match(
        await cli.run('retry', 'served', '--error-group', bad, '-y'),
        { code: 2, stderr: /must be the id of a group of errors/ },
        bad,
      );
    }
    t.match(await cli.run('cancel', 'served', '--error-group', group, '-y'), { code: 2, stderr: /unknown option/ });
    t.match(await cli.run('errors', 'served', '--retry', ''), {
      code: 2,
      stderr: /must be the id of a group of errors/,
    });
  });
});
