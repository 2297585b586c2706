// test: postgres, 50 s
/** Processors and memory of workers: measured by a real agent, shown by core, the command line and the console. */
import { useOf } from '@slipway/gpu-agent/executors/process-use';
import { systemClock } from '@slipway/kit/time/clock';
import type { HostLoad } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { commandLine } from '../cli/command-line.ts';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { scratch } from '../helpers/scratch.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const MIB = 100;

t.setTimeout(300_000);

t.test('what a worker uses', async (t) => {
  const system = await startSystem(t);
  const files = await scratch(t);
  const fields = { name: 'busy', workersMin: 1 };
  const endpointId = await system.createEndpoint({ command: jsHandler('all.js'), fields });
  const loadNow = async (): Promise<HostLoad | undefined> =>
    (await call(system.clients.machines, 'listWorkers', { endpointId }, system.key)).workers[0]?.load;
  const idle = await waitFor('an idle worker', async () => {
    const load = await loadNow();
    return load?.processors !== undefined && load.processors < 0.3 && load;
  });
  t.ok(idle.memoryUsedMib! > 20 && idle.memoryUsedMib! < 500, `${idle.memoryUsedMib} MiB`);
  const jobs = endpointJobs(system, endpointId);
  const job = await jobs.run({ mode: 'spin', mib: MIB, file: files.path('gate') });
  const busy = await waitFor('a busy one', async () => {
    const load = await loadNow();
    return (
      (load?.processors ?? 0) > idle.processors! + 0.1 && load!.memoryUsedMib! > idle.memoryUsedMib! + MIB / 2 && load!
    );
  });
  t.ok(busy.processors! < 64);
  const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: system.cores[0]!.address, SLIPWAY_API_KEY: system.key });
  t.match(await cli.run('workers', 'list', 'busy'), { code: 0, stdout: /LOAD[^]*\d\.\d CPU, \d+ MiB/ });
  t.match(await cli.json('workers', 'list', 'busy'), [{ load: { memoryUsedMib: Number } }]);
  files.open('gate');
  await jobs.settled(job);
  await waitFor('less work', async () => ((await loadNow())?.processors ?? 1) < 0.3);
});

t.test('processes of this host', async (t) => {
  const own = await useOf([process.pid, 2 ** 22 + 1], systemClock);
  t.ok(own!.memoryMib > 10);
  t.equal(own!.seconds.size, 1, 'one that has ended counts nothing');
  t.equal(await useOf([2 ** 22 + 1], systemClock), undefined);
  let others = 0;
  setImmediate(() => (others += 1));
  for (let worker = 0; worker < 3; worker += 1) await useOf([process.pid], systemClock);
  t.equal(others, 1, 'workers with one process each do not hold up other work');
});
