// test: postgres
/**
 * Every service of core, facade and agent is started and stopped, also while it starts and more than once, in an order
 * that the printed seed repeats, while the others run. Then all are started once more, and the system must work as if
 * nothing had been.
 */

import { buildCore } from '@slipway/core/app';
import { readCoreConfig } from '@slipway/core/config';
import type { Service } from '@slipway/kit/lifecycle/service';
import { StoppedError } from '@slipway/kit/lifecycle/service';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { createDatabase } from '../helpers/db/database.ts';
import { quietPort } from '../helpers/net/ports.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';
import { seededRandom } from '../helpers/time/seeded-random.ts';

t.setTimeout(600_000);

const STEPS = 120;
/** Longest time of a start or stop call, in milliseconds. A server lets its calls run for 3 s. */
const CALL_MS_MAX = 60_000;

const WAYS: Record<string, (service: Service) => Promise<unknown>[]> = {
  start: (service) => [service.start()],
  stop: (service) => [service.stop()],
  'stop twice': (service) => [service.stop(), service.stop()],
  'start twice': (service) => [service.start(), service.start()],
  'stop while it starts': (service) => [service.start(), service.stop()],
  'start, stop, start': (service) => [service.start(), service.stop(), service.start()],
};

/** Resolves when the calls have; a start that a later stop overtook is as it should be. */
async function settled(what: string, calls: readonly Promise<unknown>[]): Promise<void> {
  const over = Promise.withResolvers<never>();
  const timer = systemClock.after(CALL_MS_MAX, () =>
    over.reject(new Error(`${what} did not end within ${CALL_MS_MAX} ms`)),
  );
  const each = calls.map((call) =>
    call.catch((error: unknown) => {
      if (!(error instanceof StoppedError)) throw new Error(`${what} failed`, { cause: error });
    }),
  );
  await Promise.race([Promise.all(each), over.promise]).finally(() => timer.cancel());
}

t.test('services start and stop in any order', async (t) => {
  const ports = [await quietPort(), await quietPort()];
  const system = await startSystem(t, { agents: 0, coreEnv: { SLIPWAY_CORE_LISTEN: `127.0.0.1:${ports[0]}` } });
  const agent = await system.startAgent(undefined, { SLIPWAY_BRIDGE_PORT: String(ports[1]) });
  const services = [...system.cores[0]!.services, ...system.facade.services, ...agent.services];
  const id = await system.createEndpoint({ command: jsHandler('all.js'), workersMax: 1 });
  const jobs = endpointJobs(system, id);
  const completes = async (): Promise<unknown> =>
    jobs.reached(await jobs.run({ mode: 'odd', kind: 'date' }), 'COMPLETED', CALL_MS_MAX);
  await completes();

  const random = seededRandom();
  const pending: Promise<void>[] = [];
  const done: string[] = [];
  for (let step = 0; step < STEPS; step += 1) {
    const service = random.one(services);
    const way = random.one(Object.keys(WAYS));
    done.push(`${service.name}: ${way}`);
    const calls = settled(done.at(-1)!, WAYS[way]!(service));
    if (random.below(4) === 0) await calls;
    else pending.push(calls);
    if (random.below(2) === 0) await new Promise(setImmediate);
  }
  await Promise.all(pending);
  t.equal(
    new Set(done.map((each) => each.split(':')[0])).size > services.length / 2,
    true,
    `${STEPS} steps at ${services.length} services`,
  );

  for (const service of services) await settled(`${service.name}: the last start`, [service.start()]);
  t.match(await completes(), { output: '1970-01-01T00:00:00.000Z' }, 'jobs run as before');
});

t.test('a process that is stopped while it starts ends, and is not started again', async (t) => {
  const { url } = await createDatabase(t);
  const random = seededRandom();
  const logger = createLogger('test', 'silent');
  const config = readCoreConfig({
    SLIPWAY_DATABASE_URL: url,
    SLIPWAY_CORE_LISTEN: '127.0.0.1:0',
    SLIPWAY_ROOT_KEY: 'root_0123456789abcdef',
    SLIPWAY_SECRET_KEY: '00'.repeat(32),
  });
  for (let round = 0; round < 8; round += 1) {
    const core = buildCore(config, { logger });
    const start = core.start().then(() => undefined);
    const turns = random.below(60);
    for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
    await settled(`a core that is stopped after ${turns} turns`, [start, core.stop(), core.stop()]);
    await t.rejects(core.start(), /not started again/);
  }
});
