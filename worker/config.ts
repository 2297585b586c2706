/** Address of this worker's agent: the variables of the worker protocol. */

/**
 * Settings of a worker. The worker's id is filled in in the four URLs; `$ID` in the two result URLs still stands for
 * the job's id.
 */
export interface WorkerConfig {
  workerId: string;
  takeUrl: string;
  doneUrl: string;
  streamUrl: string;
  pingUrl: string;
  /** Value of the Authorization header. */
  key: string;
  pingIntervalMs: number;
  hostname: string;
}

/** Reads the settings. Throws if this process was not started as a worker. */
export function readWorkerConfig(env: Readonly<Record<string, string | undefined>> = process.env): WorkerConfig {
  const workerId = env.RUNPOD_POD_ID ?? '';
  const address = (name: string): string => {
    const value = env[name];
    if (!value)
      throw new Error(
        `${name} is not set: a handler is started by Slipway, for instance with "npm start -- --handler <file>"`,
      );
    return value.replaceAll('$RUNPOD_POD_ID', workerId);
  };
  return {
    workerId,
    takeUrl: address('RUNPOD_WEBHOOK_GET_JOB').replaceAll('$ID', workerId),
    doneUrl: address('RUNPOD_WEBHOOK_POST_OUTPUT'),
    streamUrl: address('RUNPOD_WEBHOOK_POST_STREAM'),
    pingUrl: address('RUNPOD_WEBHOOK_PING'),
    key: env.RUNPOD_AI_API_KEY ?? '',
    pingIntervalMs: Math.max(1_000, Number(env.RUNPOD_PING_INTERVAL) || 10_000),
    hostname: env.RUNPOD_POD_HOSTNAME ?? 'unknown',
  };
}
