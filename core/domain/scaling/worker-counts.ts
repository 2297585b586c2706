/** Counts workers by state, for decisions and for /health alike. Pure. */

/** The part of a worker that is counted. */
interface CountedWorker {
  desired: string;
  state: string;
  /** Number of attempts or requests it holds. */
  held: number;
}

/** Numbers of living workers. */
export interface StateCounts {
  idle: number;
  /** Busy, including draining ones. */
  running: number;
  initializing: number;
  unhealthy: number;
  /** On standby by FlashBoot. */
  standby: number;
  /** Living workers that should run. */
  present: number;
}

/** Counts workers. A worker may count twice: by its state, and as present. */
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
  /** For load-balancing endpoints: its address, and the state of its health path. */
  address: string;
  health: string;
}

/**
 * Returns the numbers of /health. For load-balancing endpoints, `running` counts started workers, and `ready` those
 * whose health path reports ready.
 */
export function countHealth(workers: readonly HealthWorker[], type: 'QB' | 'LB'): StateCounts & { ready: number } {
  const counts = countStates(workers);
  const mayTake = workers.filter(({ state, desired }) => state === 'READY' && desired === 'RUN');
  if (type === 'QB') return { ...counts, ready: mayTake.filter(({ held, capacity }) => held < capacity).length };
  const started = workers.filter(
    ({ state, address }) => address !== '' && ['INITIALIZING', 'READY', 'DRAINING'].includes(state),
  );
  return { ...counts, running: started.length, ready: mayTake.filter(({ health }) => health === 'READY').length };
}
