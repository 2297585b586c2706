/** Asks the engine for the state of a container, and waits while the engine is away: containers survive it. */

import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type Docker from 'dockerode';
import { statusOf } from '../../images/image-store.ts';
import type { WorkloadStats } from '../executor.ts';
import type { ContainerState } from './container-state.ts';
import { OVER } from './container-state.ts';

/** Pause before an engine that is away is asked again, in milliseconds. */
export const ENGINE_AWAY_MS = 500;
/** Pause before an engine that is about to record a change is asked again, in milliseconds. */
const ENGINE_BUSY_MS = 10;
/** After this many inspections a container whose output ended still runs: the connection broke, not the container. */
const INSPECTIONS_MAX = 100;

/** A container, and when to stop asking for it. */
export interface InspectedContainer {
  container: Docker.Container;
  clock: Clock;
  /** Returns true once the agent has released the container. That ends the wait. */
  isReleased(): boolean;
}

/** Returns what the engine knows of the container; `undefined` if it does not exist or was released. Never rejects. */
export async function inspectContainer({
  container,
  clock,
  isReleased,
}: InspectedContainer): Promise<Docker.ContainerInspectInfo | undefined> {
  while (!isReleased()) {
    try {
      return await container.inspect();
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      // Podman fails to describe a container that ends at this moment.
      await delay(clock, statusOf(error) === 500 ? ENGINE_BUSY_MS : ENGINE_AWAY_MS);
    }
  }
  return undefined;
}

/**
 * Returns the final state of a container whose output ended: `runs` if only the connection broke, `undefined` if the
 * container does not exist any more.
 */
export async function stateAfterOutput(inspected: InspectedContainer): Promise<ContainerState | 'runs' | undefined> {
  for (let count = 0; count < INSPECTIONS_MAX && !inspected.isReleased(); count += 1) {
    const info = await inspectContainer(inspected);
    if (!info) return undefined;
    if (OVER.has(info.State.Status)) return info.State;
    await delay(inspected.clock, ENGINE_BUSY_MS);
  }
  return 'runs';
}

/**
 * Pauses a container. Resolves if it is paused, also if the engine's response was lost or says that it was paused
 * before. Rejects with the engine's error.
 */
export async function pause(inspected: InspectedContainer): Promise<void> {
  await inspected.container.pause().catch(async (error: unknown) => {
    if (!(await isPaused(inspected))) throw error;
  });
}

/** Resumes a container. Resolves if it is not paused, as `pause` does. */
export async function unpause(inspected: InspectedContainer): Promise<void> {
  await inspected.container.unpause().catch(async (error: unknown) => {
    if (await isPaused(inspected)) throw error;
  });
}

async function isPaused(inspected: InspectedContainer): Promise<boolean> {
  return (await inspectContainer(inspected))?.State.Paused === true;
}

/** Returns the resource usage of a container; `undefined` if the engine does not give it. */
export async function statsOf(container: Docker.Container): Promise<WorkloadStats | undefined> {
  try {
    const { memory_stats: memory, cpu_stats: cpu } = await container.stats({ stream: false, 'one-shot': true });
    return { memoryBytes: memory.usage, cpuMicros: Math.round(cpu.cpu_usage.total_usage / 1_000) };
  } catch {
    return undefined;
  }
}
