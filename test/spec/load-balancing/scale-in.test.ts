// test: postgres, 20 s
/**
 * Workers that a burst of requests needed end while a smaller load goes on without a pause: real core, facade, agent
 * and HTTP workers.
 */
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { lbClient, lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
/** Requests that one worker takes before another is started. */
const SHARE = 4;
const WORKERS = 3;
/** Requests of the load that goes on, at any moment: enough for one worker, and as many as there are workers. */
const STEADY = 3;
/** Length of a request in milliseconds, as long as an idle worker waits: none of three workers is idle by chance. */
const REQUEST_MS = 2_000;

t.test('workers that a steady load does not need end, and no request with them', async (t) => {
  const system = await startSystem(t, {});
  const { at, shown } = lbClient(system);
  const endpointId = await lbEndpoint(system, { workersMax: WORKERS, scalerValue: SHARE, idleTimeoutSeconds: 2 });
  const slow = () => shown(at(endpointId, `/slow?ms=${REQUEST_MS}`));
  const workers = async () => {
    const { workers: all } = await call(system.clients.machines, 'listWorkers', { endpointId }, system.key);
    return all;
  };
  const burst = Array.from({ length: SHARE * WORKERS }, slow);
  await waitFor('a worker for each share', async () => (await workers()).length === WORKERS);
  await Promise.all(burst);

  let isOver = false;
  const steady = async (): Promise<number> => {
    let answered = 0;
    while (!isOver) {
      await slow();
      answered += 1;
    }
    return answered;
  };
  const load = Array.from({ length: STEADY }, steady);
  await waitFor('one worker to be left', async () => (await workers()).length === 1);
  isOver = true;
  for (const answered of await Promise.all(load)) t.ok(answered > 0, `${answered} requests answered by the end`);
});
