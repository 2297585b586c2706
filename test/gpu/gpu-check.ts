/**
 * `npm run gpu-check`: all of Slipway on this machine's GPU. Ten endpoints of 8 GiB share one card, with unmodified
 * Python workers on PyTorch, in 100 random calls. Prints how the calls were served, whether the workers' GPU memory
 * stayed what it was, and what is left on the card. Takes at most five minutes on a large card.
 *
 *   npm run gpu-check -- [--stand-in] [--endpoints 10] [--calls 100] [--seconds 270] [--gib 8] [--python PYTHON]
 *
 * `--stand-in`: without a GPU, on a driver that only pretends to move memory. `--python`: has torch and runpod.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Test } from 'tap';
import t from 'tap';
import { startCuda } from '../helpers/cuda/stand-in.ts';
import { PYTHONS } from '../helpers/system/handlers.ts';
import { startProcesses } from '../helpers/system/processes.ts';
import { seededRandom } from '../helpers/time/seeded-random.ts';
import { createSharers, shareCard, tableOf } from './share-card.ts';

t.setTimeout(600_000);

const { values } = parseArgs({
  options: {
    'stand-in': { type: 'boolean', default: false },
    endpoints: { type: 'string', default: '10' },
    calls: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '270' },
    gib: { type: 'string', default: '8' },
    python: { type: 'string', default: 'python3' },
  },
});
/** Times of the stand-in: those of an H200, a tenth as long. */
const PACE = [55, 20, 35] as const;
/** The stand-in's workers hold less: the host memory that a move needs must be there all the same. */
const STAND_IN_GIB = 0.5;

/** Where the check runs. */
interface Place {
  gpuId: string;
  command: string[];
  env: Record<string, string>;
  agentEnv: Record<string, string>;
  gib: number;
  used(): Promise<string>;
}

async function standIn(t: Test): Promise<Place> {
  const card = 'GPU-0000-stand-in';
  const cuda = await startCuda(t, { cards: { [card]: 24_576 } });
  await cuda.pace(...PACE);
  return {
    gpuId: 'NVIDIA L4',
    command: [PYTHONS.new, '-u', join(import.meta.dirname, '../handlers/gpu.py')],
    env: { CUDA_STAND_IN: cuda.library, GPU_MIB: String(STAND_IN_GIB * 1_024) },
    agentEnv: cuda.env,
    gib: STAND_IN_GIB,
    used: async () => `${await cuda.used(card)} MiB`,
  };
}

function realGpu(): Place | undefined {
  const ask = (field: string): string =>
    execFileSync('nvidia-smi', [`--query-gpu=${field}`, '--format=csv,noheader'], { encoding: 'utf8' }).trim();
  try {
    const [gpuId = ''] = ask('name').split('\n');
    t.comment(`driver ${ask('driver_version')}, ${ask('name')}, ${ask('memory.used')} in use`);
    return {
      gpuId,
      command: [values.python, '-u', join(import.meta.dirname, 'torch_worker.py')],
      env: { GIB: values.gib },
      agentEnv: {},
      gib: Number(values.gib),
      used: async () => ask('memory.used'),
    };
  } catch {
    return undefined;
  }
}

t.test('endpoints that share one card', async (t) => {
  const place = values['stand-in'] ? await standIn(t) : realGpu();
  if (!place) {
    t.comment('This machine has no GPU (nvidia-smi does not answer): --stand-in runs the check without one.');
    return;
  }
  const endpoints = Number(values.endpoints);
  const budgetGb = Math.ceil(endpoints * (place.gib + 2) * 1.1);
  const agentEnv = {
    SLIPWAY_STANDBY_MAX: String(endpoints),
    SLIPWAY_STANDBY_MEMORY_GB: String(budgetGb),
    ...place.agentEnv,
  };
  const before = await place.used();
  const slipway = await startProcesses(t, { agentEnv });
  const sharers = await createSharers(slipway, endpoints, place);
  const untilMs = performance.now() + Number(values.seconds) * 1_000;
  const calls = await shareCard(slipway, sharers, {
    calls: Number(values.calls),
    untilMs,
    random: seededRandom(),
  });
  for (const { problem } of calls) if (problem) t.fail(problem);
  t.equal(calls.filter(({ way }) => way === 'cold').length, endpoints, 'one cold start for each endpoint');
  for (const line of tableOf(calls).split('\n')) t.comment(line);
  await slipway.agents[0]!.stop();
  t.comment(`in use on the card: ${before} before, ${await place.used()} after`);
});
