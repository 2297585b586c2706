/**
 * Measures what FlashBoot costs a job, in real containers with unmodified Python workers. Jobs that resume a standby
 * worker alternate with jobs that find a warm one, and the same moments of both are compared. These are the claim,
 * recorded by the database, and the receipt by the SDK and the first line of the handler, recorded by the worker. All
 * use this machine's clock.
 */
import { join } from 'node:path';
import { FlashBootType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { TestPodman } from '@slipway/test/helpers/engines/podman-images';
import { makeWorkerImage } from '@slipway/test/helpers/engines/podman-images';
import { PYTHONS } from '@slipway/test/helpers/system/handlers';
import type { System } from '@slipway/test/helpers/system/system';
import { startSystem } from '@slipway/test/helpers/system/system';
import { waitFor } from '@slipway/test/helpers/time/wait-for';
import root from 'tap';
import type { Figure } from '../figure.ts';
import { median } from '../figure.ts';
import type { Moments } from '../parts/timed-job.ts';
import { timedJob } from '../parts/timed-job.ts';

const WAKE_MS_MAX = 20;
/**
 * Releases of the SDK. The second one polls ten times a second for jobs that it has taken, counted from its resume. So
 * a resumed worker begins a job after a tenth of a second, and a warm one after half of that on average. Nothing
 * outside the SDK can change this, so the target applies to the time until the SDK has the job.
 */
const SDKS = [
  { name: 'SDK 1.7.13', python: PYTHONS.old, looks: false },
  { name: 'SDK 1.12.0', python: PYTHONS.new, looks: true },
];

/** Recorded moments of one SDK's jobs, round by round. */
interface Seen {
  frozen: Moments[];
  warm: Moments[];
}

/**
 * Measures `rounds` rounds after a warm-up round. The SDKs run one after the other, because the old one never
 * sleeps while it waits for a job.
 */
export async function measureFlashBoot(podman: TestPodman, rounds: number): Promise<Figure[]> {
  const system = await startSystem(root, { agentEnv: { SLIPWAY_AGENT_CONTAINERS: podman.socket } });
  const figures: Figure[] = [];
  for (const { name, python, looks } of SDKS) {
    const imageName = `localhost/worker:${name.slice(4)}`;
    await makeWorkerImage(podman, python, join(import.meta.dirname, '../workers/moments_handler.py'), imageName);
    figures.push(...figuresOf(name, looks, await ask(system, podman, imageName, rounds)));
  }
  return figures;
}

async function ask(system: System, podman: TestPodman, imageName: string, rounds: number): Promise<Seen> {
  const endpoint = (fields: object) =>
    system.createEndpoint({ command: [], imageName, fields, ready: 0, workersMax: 1 });
  const warmId = await endpoint({ workersMin: 1 });
  const frozenId = await endpoint({ flashBootType: FlashBootType.FLASHBOOT, workersMin: 0, idleTimeoutSeconds: 1 });
  const seen: Seen = { frozen: [], warm: [] };
  for (let round = -1; round <= rounds; round += 1) {
    if (round >= 0)
      await waitFor('it to stand still', async () => (await podman.names({ paused: true })) !== '', 60_000);
    // The SDK sleeps for a second after each job. Both workers have done so by now.
    const [frozen, warm] = [await timedJob(system, frozenId), await timedJob(system, warmId)];
    if (round <= 0) continue;
    seen.frozen.push(frozen);
    seen.warm.push(warm);
  }
  for (const id of [warmId, frozenId]) await system.endWorkers(id);
  await waitFor('all to end', async () => (await podman.names({ all: true })) === '', 60_000);
  return seen;
}

function figuresOf(name: string, looks: boolean, { frozen, warm }: Seen): Figure[] {
  const figure = (what: string, of: (moments: Moments) => number, aim?: number): Figure[] => [
    { name: `${name}, ${what}: warm`, path: '', value: median(warm.map(of)), unit: 'ms' },
    { name: `${name}, ${what}: frozen`, path: '', value: median(frozen.map(of)), unit: 'ms' },
    {
      name: `${name}, ${what}: more than warm`,
      path: '',
      unit: 'ms',
      ...(aim !== undefined && { target: aim }),
      value: median(frozen.map((moments, round) => of(moments) - of(warm[round]!))),
    },
  ];
  return [
    ...figure('claim to the SDK', ({ claimMs, takenMs }) => takenMs - claimMs, WAKE_MS_MAX),
    ...figure(
      "claim to the handler's first line",
      ({ claimMs, beganMs }) => beganMs - claimMs,
      looks ? undefined : WAKE_MS_MAX,
    ),
    ...figure('POST /runsync to claim', ({ sentMs, claimMs }) => claimMs - sentMs),
    ...figure('POST /runsync to its answer', ({ sentMs, answeredMs }) => answeredMs - sentMs),
  ];
}
