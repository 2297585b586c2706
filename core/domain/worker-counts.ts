/** Workers by what they are at: the numbers of a decision and of /health, which are the same ones. Pure. */

/** As much of a worker as counting needs. */
export interface CountedWorker {
  desired: string;
  state: string;
  /** Attempts or requests it holds. */
  held: number;
}

/** Numbers of workers that have not ended. */
export interface StateCounts {
  idle: number;
  /** Busy, those that are to go included. */
  running: number;
  initializing: number;
  unhealthy: number;
  /** Frozen by FlashBoot. */
  standby: number;
  /** Workers that there shall be and are. */
  present: number;
}

/** Counts. A worker may count more than once: as what it is, and as one that shall be. */
export function countStates(workers: readonly CountedWorker[]): StateCounts {
  const count = (is: (worker: CountedWorker) => boolean): number => workers.filter(is).length;
  return {
    idle: count(({ state, held }) => state === 'READY' && held === 0),
    running: count(({ state, held }) => (state === 'READY' || state === 'DRAINING') && held > 0),
    initializing: count(({ state }) => state === 'INITIALIZING'),
    unhealthy: count(({ state }) => state === 'UNHEALTHY'),
    standby: count(({ state }) => state === 'FROZEN'),
    present: count(({ desired }) => desired === 'RUN'),
  };
}

/** A worker as /health sees it. */
export interface HealthWorker extends CountedWorker {
  capacity: number;
  /** Of a worker of a load-balancing endpoint: where it listens, and what its health path answers. */
  address: string;
  health: string;
}

/** The numbers of /health. Of a load-balancing endpoint `running` are those that have started, and `ready` those whose health path says so. */
export function countHealth(workers: readonly HealthWorker[], type: 'QB' | 'LB'): StateCounts & { ready: number } {
  const counts = countStates(workers);
  const mayTake = workers.filter(({ state, desired }) => state === 'READY' && desired === 'RUN');
  if (type === 'QB') return { ...counts, ready: mayTake.filter(({ held, capacity }) => held < capacity).length };
  const started = workers.filter(({ state, address }) => address !== '' && ['INITIALIZING', 'READY', 'DRAINING'].includes(state));
  return { ...counts, running: started.length, ready: mayTake.filter(({ health }) => health === 'READY').length };
}
