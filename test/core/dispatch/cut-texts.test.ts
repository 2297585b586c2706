// test: postgres
/** Texts of machines that are cut within a character: the machine joins, and its endpoints are scaled. */
import t from 'tap';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(120_000);

const core = await startReplicas(t);
const gpu = { name: 'NVIDIA L4', memoryMib: 24_576, migProfile: '' };
/** Has an emoji, of two code units, at this index. */
const wide = (index: number): string => `${'x'.repeat(index)}😀${'y'.repeat(100)}`;

t.test('a GPU whose fault has an emoji where it is cut', async (t) => {
  await core.joinAgent({ gpus: [{ ...gpu, uuid: 'GPU-1', unhealthy: wide(190) }] });
  const [machine] = await core.sql<{ gpus: { unhealthy: string }[] }[]>`SELECT gpus FROM machine`;
  t.equal(machine!.gpus[0]!.unhealthy, `${'x'.repeat(190)}\uFFFD`);
});

t.test('programs outside Slipway whose names have an emoji where their list is cut', async (t) => {
  const [first, second] = [wide(80).slice(0, 150), wide(147)];
  await core.joinAgent({
    locations: ['CZ'],
    gpus: [
      { ...gpu, uuid: 'GPU-2', occupiedBy: first },
      { ...gpu, uuid: 'GPU-3', occupiedBy: second.slice(0, 180) },
    ],
  });
  const id = await core.createEndpoint({ locations: ['CZ'], gpuIds: ['NVIDIA L4'], workersMin: 1, workersMax: 1 });
  const decision = await waitFor('a decision', async () => {
    const [row] = await core.sql<{ text: string }[]>`
      SELECT refusal_by_machine AS text FROM scale_decision WHERE endpoint_id = ${id} AND throttled > 0`;
    return row;
  });
  t.match(decision.text, /2 are held outside Slipway, by x+😀y+, x+/);
});
