// test: postgres, 10 s
/** kill -9 of an agent in the middle of a model's download: the next one continues where it ended. */
import t from 'tap';
import { startModelHub } from '../helpers/net/model-hub.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startProcesses } from '../helpers/system/processes.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const WEIGHTS = 'model.safetensors';
const BYTES = 4_000_000;
const ARRIVED = 1_000_000;

t.setTimeout(300_000);
t.test('no byte is sent twice, and the job gets the whole model', async (t) => {
  const hub = await startModelHub(t);
  const content = Buffer.alloc(BYTES, 'w');
  const commit = hub.push('lab/tiny', { files: { [WEIGHTS]: content }, large: [WEIGHTS] });
  // Then nothing more comes, until the agent asks again.
  hub.fail({ path: WEIGHTS, silentAfter: ARRIVED, times: 1 });
  const slipway = await startProcesses(t, {
    env: { SLIPWAY_MODEL_HUB: hub.address },
    agentEnv: { SLIPWAY_MODEL_DISK_GB: '1' },
  });
  const id = await slipway.createEndpoint({
    command: jsHandler('cached-model.js'),
    fields: { modelReferences: ['lab/tiny'], workersMin: 1 },
    workersMax: 1,
    ready: 0,
  });
  await waitFor('a quarter of it to be there', async () => {
    const [row] = await slipway.sql<
      { bytes: number }[]
    >`SELECT max(downloaded_bytes)::float8 AS bytes FROM machine_model`;
    return row!.bytes === ARRIVED;
  });
  const [agent] = slipway.agents;
  await agent!.kill();
  await agent!.start();
  const input = { model: 'lab/tiny', file: WEIGHTS };
  const { json } = await waitFor('a job that reads it', async () => {
    const answer = await slipway.request('POST', `/v2/${id}/runsync`, { input });
    return answer.json.status === 'COMPLETED' && answer;
  });
  t.match(json, { output: { commit } });
  t.equal((json as unknown as { output: { text: string } }).output.text.length, BYTES);
  t.equal(hub.sentBytes, BYTES);
  t.ok(
    hub.requests.some(({ range }) => range === `bytes=${ARRIVED}-`),
    'it asked for the rest',
  );
});
