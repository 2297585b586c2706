/** Runs random faults while jobs run, and checks the jobs. */
import t from 'tap';
import { seededRandom } from '../../helpers/time/seeded-random.ts';
import { checkOutcomes, startJobs } from '../jobs-in-flight.ts';
import { startChaosSystem } from './chaos-system.ts';
import { startContainerJobs } from './container-jobs.ts';
import { faultsOf } from './faults.ts';

/** Jobs submitted during each fault: of processes, and of containers. */
const BETWEEN = 10;
const CONTAINERS_BETWEEN = 3;
const LARGE_BYTES = 2_000_000;
const HOUR_MS = 3_600_000;

/** Runs `count` faults. */
export function runChaos(count: number): void {
  t.setTimeout(6 * HOUR_MS);
  void t.test(`${count} random faults lose no acknowledged job`, async (t) => {
    const system = await startChaosSystem(t);
    const { slipway, podman } = system;
    const random = seededRandom();
    // A job may be hit again and again; that its limit ends it is not the matter here.
    const inFlight = await startJobs(t, slipway, { workers: 2, retryLimit: 10, largeBytes: LARGE_BYTES });
    const inContainers = podman && (await startContainerJobs(t, slipway, podman));
    const { begin, ended } = faultsOf(system, random);
    for (let number = 0; number < count; number += 1) {
      const { what, end } = await begin();
      t.comment(`fault ${number + 1} of ${count}: ${what}`);
      const submitted = Promise.all([inFlight.submit(BETWEEN), inContainers?.submit(CONTAINERS_BETWEEN)]);
      await submitted;
      // Every other time the next one comes while this one is not over yet.
      if (number % 2 === 0) await end;
    }
    await ended();
    await checkOutcomes(t, inFlight);
    await inContainers?.check(t);
  });
}
