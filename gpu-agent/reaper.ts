/**
 * Ends the container workers of an agent that died and does not come back. Starts when the agent has ended, for
 * whatever reason (start-reaper.ts), and waits for the end of the lease. If another run of the agent has the folder by
 * then, the reaper does nothing: that run handles the containers. Core gives the jobs to others at the end of the
 * lease, so nothing may run them here any longer. Pods stay. If there are no pods either, networks, firewall rules and
 * views are removed some time later: an agent that is only restarted needs them again.
 *
 *   node gpu-agent/reaper.ts DATA-FOLDER VOLUMES-FOLDER SOCKET MACHINE INSTANCE
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { machineDisk } from '@slipway/kit/host/disk';
import { delay, systemClock } from '@slipway/kit/time/clock';
import { cleanHost } from './clean-host.ts';
import { MACHINE_LABEL, WORKLOAD_LABEL } from './executors/container/container-plan.ts';
import type { Engine } from './executors/container/engine.ts';
import { removeContainer } from './executors/container/engine-calls.ts';
import { EngineFinder } from './executors/container/engine-finder.ts';
import { readRunLog } from './spool/run-log.ts';

/**
 * Start before the end of the lease, in milliseconds. All workers must have ended when core gives the jobs away, and a
 * busy engine takes its time.
 */
const EARLY_MS = 2_000;
/** Longest wait for an engine that is away, and the pause between tries, in milliseconds. */
const ENGINE_MS_MAX = 600_000;
const PAUSE_MS = 1_000;

/** Time after the lease that an agent has to come back before the host is cleaned, in milliseconds. */
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
// A failure here is left to the next start of the agent, or to `slipway agent --clean`.
if (await isAlone()) await clean().catch(() => undefined);

async function clean(): Promise<void> {
  await cleanHost({ dataDir: folder, volumesDir, machineId, engine: await findEngine(), endsContainers: false });
}

function findEngine(): Promise<Engine> {
  return new EngineFinder({ setting: socket, dockerHost: '', runtimeDir: '' }, systemClock).find();
}

/** Returns true if no other run of the agent has taken the folder. */
async function isAlone(): Promise<boolean> {
  return (await readFile(join(folder, 'instance'), 'utf8').catch(() => '')).trim() === instance;
}

async function endAll(): Promise<void> {
  const { docker } = await findEngine();
  const found = await docker.listContainers({ all: true, filters: { label: [`${MACHINE_LABEL}=${machineId}`] } });
  const own = found.filter(({ Labels }) => workers.has(Labels[WORKLOAD_LABEL] ?? ''));
  await Promise.all(own.map(({ Id }) => removeContainer(docker.getContainer(Id))));
}
