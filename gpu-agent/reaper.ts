/**
 * Ends the workers in containers of an agent that died and does not come back. It begins when the agent has ended,
 * however that was (start-reaper.ts), waits for the end of the lease, and leaves everything alone when another run of
 * the agent has the folder by then: that one knows what to do. Core gives the jobs to others at the end of the lease;
 * here nothing may run them any more. Pods stay. Where none is left either, networks, rules of the firewall and views
 * go some time later: an agent that is only restarted needs them again.
 *
 *   node gpu-agent/reaper.ts DATA-FOLDER VOLUMES-FOLDER SOCKET MACHINE INSTANCE
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { machineDisk } from '@slipway/kit/host/disk';
import { delay, systemClock } from '@slipway/kit/time/clock';
import { cleanHost } from './clean-host.ts';
import { MACHINE_LABEL, UNIT_LABEL } from './executors/container/container-plan.ts';
import type { Engine } from './executors/container/engine.ts';
import { removeContainer } from './executors/container/engine-calls.ts';
import { EngineFinder } from './executors/container/engine-finder.ts';
import { readRunLog } from './spool/run-log.ts';

/** All must be over when core gives the jobs away, and a busy engine takes its time. In milliseconds. */
const EARLY_MS = 2_000;
/** How long an engine that is away is waited for, and the pause between tries, in milliseconds. */
const ENGINE_MS_MAX = 600_000;
const PAUSE_MS = 1_000;

/** How much longer an agent may take to come back before the host is cleaned, in milliseconds. */
const CLEAN_AFTER_MS = 10_000;

const [folder, volumesDir, socket, machineId, instance] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
];

const { run, workers } = await readRunLog(folder, machineDisk);
const leaseEndsMs = run?.leaseFromMs === undefined ? 0 : run.leaseFromMs + run.leaseMs;
if (workers.size > 0) {
  await delay(systemClock, Math.max(0, leaseEndsMs - EARLY_MS - systemClock.machineMs()));
  const untilMs = systemClock.machineMs() + ENGINE_MS_MAX;
  while ((await isAlone()) && systemClock.machineMs() < untilMs) {
    if (
      await endAll().then(
        () => true,
        () => false,
      )
    )
      break;
    await delay(systemClock, PAUSE_MS);
  }
}

await delay(systemClock, Math.max(0, leaseEndsMs - systemClock.machineMs()) + CLEAN_AFTER_MS);
// Whatever fails here is left for the next start of the agent, or for `slipway agent --clean`.
if (await isAlone()) await clean().catch(() => undefined);

async function clean(): Promise<void> {
  await cleanHost({ dataDir: folder, volumesDir, machineId, engine: await findEngine(), endsContainers: false });
}

function findEngine(): Promise<Engine> {
  return new EngineFinder({ setting: socket, dockerHost: '', runtimeDir: '' }, systemClock).find();
}

/** No other run of the agent has taken the folder. */
async function isAlone(): Promise<boolean> {
  return (await readFile(join(folder, 'instance'), 'utf8').catch(() => '')).trim() === instance;
}

async function endAll(): Promise<void> {
  const { docker } = await findEngine();
  const found = await docker.listContainers({ all: true, filters: { label: [`${MACHINE_LABEL}=${machineId}`] } });
  const own = found.filter(({ Labels }) => workers.has(Labels[UNIT_LABEL] ?? ''));
  await Promise.all(own.map(({ Id }) => removeContainer(docker.getContainer(Id))));
}
