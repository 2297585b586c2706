// test: postgres, 20 s
/**
 * Connections between core and its database cut at random moments, under load: no process ends, no acknowledged job is
 * lost.
 */
import t from 'tap';
import type { CuttingProxy } from '../helpers/net/cutting-proxy.ts';
import { cuttingProxy } from '../helpers/net/cutting-proxy.ts';
import type { Processes } from '../helpers/system/processes.ts';
import { startProcesses } from '../helpers/system/processes.ts';
import type { SeededRandom } from '../helpers/time/seeded-random.ts';
import { seededRandom } from '../helpers/time/seeded-random.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import { checkOutcomes, startJobs } from './jobs-in-flight.ts';

const CUTS = Number(process.env.SLIPWAY_TEST_CUTS ?? 150);
/** Cuts go on while this many jobs are submitted, and after that until there were enough. */
const JOBS = 90;
/** By then a connection has received all parameters, the types of arrays and a first answer. */
const FIRST_BYTES_MAX = 4_000;

t.setTimeout(600_000);

/**
 * Cuts every few milliseconds until it is no longer wanted and there were enough cuts. Every third cut hits a
 * connection that is just being opened.
 */
async function cutAtRandom(proxy: CuttingProxy, random: SeededRandom, wanted: () => boolean): Promise<void> {
  while (wanted()) {
    const kind = random.below(2) === 0 ? 'RESET' : 'END';
    if (random.below(3) === 0) proxy.cutNext(random.below(4) === 0 ? 0 : random.below(FIRST_BYTES_MAX), kind);
    proxy.cut(random.fraction(), kind);
    const pauseMs = random.below(80);
    const from = performance.now();
    await waitFor('the next cut', () => performance.now() - from >= pauseMs);
  }
}

/**
 * Makes changes that write in transactions of several statements, over and over. Failures must be answered; no call may
 * hang.
 */
async function changeThings(slipway: Processes, name: string, wanted: () => boolean): Promise<Map<number, number>> {
  const answers = new Map<number, number>();
  for (let i = 0; wanted(); i += 1) {
    const { status, json } = await slipway.request('POST', '/v1/templates', {
      name: `${name}-${i}`,
      imageName: 'process',
      env: { NUMBER: String(i) },
    });
    answers.set(status, (answers.get(status) ?? 0) + 1);
    if (status === 200) await slipway.request('DELETE', `/v1/templates/${json.id}`);
  }
  return answers;
}

t.test(`${CUTS} connection cuts lose no acknowledged job`, async (t) => {
  let proxy!: CuttingProxy;
  const slipway = await startProcesses(t, {
    databaseUrl: async (text) => {
      const url = new URL(text);
      proxy = await cuttingProxy(t, { host: url.hostname, port: Number(url.port) });
      url.port = String(proxy.port);
      return url.href;
    },
  });
  const inFlight = await startJobs(t, slipway, { retryLimit: 10 });
  const core = slipway.cores[0]!.pid;
  let submitting = true;
  const from = performance.now();
  const wanted = (): boolean => (submitting || proxy.cuts < CUTS) && t.passing();
  const cutting = cutAtRandom(proxy, seededRandom(), wanted);
  const changing = changeThings(slipway, 'cut', wanted);
  await inFlight.submit(JOBS);
  submitting = false;
  await cutting;
  proxy.calm();
  t.comment(
    `${proxy.cuts} cuts in ${Math.round(performance.now() - from)} ms; templates were answered ` +
      `${JSON.stringify([...(await changing)])}`,
  );
  t.equal(slipway.cores[0]!.pid, core);
  await checkOutcomes(t, inFlight);
  // Under another name, because a change answered with 503 may have been made all the same.
  const after = await changeThings(slipway, 'whole', once());
  t.same([...after.keys()], [200], 'with the database back everything works');
});

/** Returns a function that returns true at its first call only. */
function once(): () => boolean {
  let calls = 0;
  return () => {
    calls += 1;
    return calls === 1;
  };
}
