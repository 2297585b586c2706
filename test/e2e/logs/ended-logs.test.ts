// test: postgres, 10 s
/**
 * Logs of ended workers, read by the contract and the command line, from a restarted agent, and never for another
 * account.
 */
import { statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Worker } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { commandLine } from '../../cli/command-line.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startRealAgent } from '../../helpers/system/real-agent.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const MIB = 1024 * 1024;

t.setTimeout(600_000);

t.test('the logs of workers that have ended', async (t) => {
  const core = await startReplicas(t);
  const env = { SLIPWAY_ENDED_LOGS_MIB: '4' };
  const first = await startRealAgent(t, core, env);
  const { machines } = core.clients;
  const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: core.replicas[0]!.address, SLIPWAY_API_KEY: core.key });
  const read = async (workerId: string, key = core.key): Promise<string> =>
    (await call(machines, 'getWorkerLog', { workerId, tailBytes: MIB }, key)).log.toString();
  const endpoint = async (startCommand: string[], workersMin = 1): Promise<string> =>
    core.createEndpoint({ templateId: await core.createTemplate({ startCommand }), workersMin, workersMax: 1 });
  /** Returns the endpoint's latest worker once it has ended. */
  const ended = (endpointId: string): Promise<Worker> =>
    waitFor(
      'a worker that has ended',
      async () => (await call(machines, 'listWorkers', { endpointId }, core.key)).recent[0],
    );
  const crashing = await endpoint(['/bin/sh', '-c', 'echo loading the model; echo no such file >&2; exit 7']);
  const { id: crashed } = await ended(crashing);

  await t.test('a worker that crashed at start has its whole log, by gRPC and the command line', async (t) => {
    t.equal(await read(crashed), 'loading the model\nno such file\n');
    t.match(await cli.run('logs', crashed), { code: 0, stdout: 'loading the model\nno such file\n', stderr: '' });
    t.match(
      (await cli.run('workers', crashing)).stdout,
      new RegExp(`${crashed} crashed .*, version 0`),
      'which names those that ended',
    );
  });

  await t.test('a worker that was scaled down has its log, and that of a job', async (t) => {
    const talker = await endpoint(jsHandler('talker.js'));
    const job = await core.submit(talker, { words: ['ahoy'] });
    await core.wait(talker, job.id);
    await core.updateEndpoint(talker, { workersMin: 0, workersMax: 0 });
    const { id } = await ended(talker);
    t.equal(await read(id), 'the talker is here\nsaying ahoy\n');
    const { lines } = await call(
      core.clients.jobs,
      'getJobLog',
      { endpointId: talker, jobId: job.id, attempt: 0, offset: 0, limit: 0 },
      core.key,
    );
    t.same(
      lines.map(({ text }) => text),
      ['saying ahoy'],
    );
  });

  await t.test('other accounts cannot read it', async (t) => {
    const stranger = await core.newKey(undefined, [], await core.newAccount());
    t.match(await reasonOf(read(crashed, stranger)), /^NOT_FOUND: There is no worker/);
    t.match(await reasonOf(read('nosuchworker00')), /^NOT_FOUND: There is no worker .* are known for a day\.$/);
    const other = await core.createEndpoint({ workersMin: 0 });
    t.match(
      await reasonOf(read(crashed, await core.newKey(undefined, [other]))),
      /^(NOT_FOUND|UNAUTHORIZED)/,
      'nor a key of another endpoint',
    );
  });

  await t.test('the end of a 100 MB log is kept, within the limits of the machine', async (t) => {
    const { id } = await ended(
      await endpoint(['/bin/sh', '-c', 'yes "far more than anybody reads" | head -c 104857600; echo the end; exit 1']),
    );
    const log = await read(id);
    // Lines of the system about its start and end count too, and are left out here.
    t.ok(log.length > MIB - 200 && log.length <= MIB, `${log.length} bytes`);
    t.match(log.slice(-60), /anybody reads\n.*the end\n$/s);
    const folder = join(first.dataDir, 'logs');
    const bytes = (await readdir(folder)).reduce(
      (sum, name) => sum + (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
    t.ok(bytes > MIB && bytes <= 4 * MIB, `${bytes} bytes`);
    t.equal(await read(crashed), 'loading the model\nno such file\n', 'and that of others stays');
  });

  await t.test('a disconnected machine is reported, and a restarted agent has the log', async (t) => {
    await core.updateEndpoint(crashing, { workersMin: 0, workersMax: 0 });
    await first.stop();
    const away = await waitFor('the machine to be away', async () => {
      const reason = await reasonOf(read(crashed));
      return reason.startsWith('UNAVAILABLE') && reason;
    });
    t.match(away, /machine .* not connected/);
    t.match(await cli.run('logs', crashed), { stdout: '', stderr: /machine .* not connected/ });
    await startRealAgent(t, core, env, first.dataDir);
    t.equal(
      await waitFor('the machine to be back', async () => read(crashed).catch(() => undefined)),
      'loading the model\nno such file\n',
    );
  });
});
