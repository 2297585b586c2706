/** Runs one job through the handler and posts its result, with the bodies of the worker protocol. */
import type { BridgeClient } from './bridge-client.ts';
import type { WorkerConfig } from './config.ts';
import type { Job, StartOptions } from './job.ts';
import { SDK_VERSION } from './job.ts';

type Result = Record<string, unknown>;

/**
 * Runs a job to its end. Resolves to true if this worker should be replaced. Rejects if the result could not be posted.
 * `onLeft` is called if another job may take its slot before the result is safe.
 */
export async function runJob(
  job: Job,
  options: StartOptions,
  client: BridgeClient,
  config: WorkerConfig,
  onLeft: () => void,
): Promise<boolean> {
  let isStream = false;
  let result: Result;
  try {
    const returned: unknown = await options.handler(job);
    isStream = isGenerator(returned);
    result = isStream
      ? await drain(returned as AsyncIterable<unknown>, job, options, client)
      : asResult(returned, config);
  } catch (error) {
    result = { error: JSON.stringify(describe(error, config)) };
  }
  if (options.refreshWorker) result.stopPod = true;
  const body = encode(result, config);
  const done = client.done(job.id, body, isStream);
  // A take could overtake a posted result, and a worker that is to be replaced begins nothing.
  if (!result.stopPod && client.goesByLink(body)) onLeft();
  await done;
  return result.stopPod === true;
}

/** Posts each yielded value before the next one is requested. */
async function drain(
  values: AsyncIterable<unknown>,
  job: Job,
  options: StartOptions,
  client: BridgeClient,
): Promise<Result> {
  const all: unknown[] = [];
  try {
    for await (const value of values) {
      if (job.signal.aborted) break;
      const yielded = (value as { error?: unknown } | null | undefined)?.error;
      const error = yielded instanceof Error ? message(yielded) : yielded;
      if (error) return { error: typeof error === 'string' ? error : JSON.stringify(error) };
      if (options.returnAggregateStream) all.push(value);
      await client.chunk(job.id, JSON.stringify({ output: value ?? null }));
    }
  } catch (error) {
    return { error: `handler: ${message(error)} \ntraceback: ${error instanceof Error ? error.stack : ''}` };
  }
  return { output: all };
}

function asResult(returned: unknown, config: WorkerConfig): Result {
  if (typeof returned !== 'object' || returned === null || Array.isArray(returned)) return { output: returned };
  // A Date, for instance: its JSON form does not show its members.
  if (typeof (returned as { toJSON?: unknown }).toJSON === 'function') return { output: returned };
  const { error, refresh_worker: refresh, ...output } = returned as Record<string, unknown>;
  return {
    ...(Object.keys(output).length > 0 ? { output } : {}),
    // As JSON an Error is an empty object, which would count as no error.
    ...(error ? { error: error instanceof Error ? JSON.stringify(describe(error, config)) : error } : {}),
    ...(refresh ? { stopPod: true } : {}),
  };
}

function isGenerator(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const isAsync = Symbol.asyncIterator in value;
  const isSync = Symbol.iterator in value && typeof (value as { next?: unknown }).next === 'function';
  return isAsync || isSync;
}

// A result that cannot be written as JSON (a cycle, a BigInt) is the handler's error too.
function encode(result: Result, config: WorkerConfig): string {
  try {
    return JSON.stringify(result);
  } catch (error) {
    return JSON.stringify({
      error: JSON.stringify(describe(error, config)),
      ...(result.stopPod ? { stopPod: true } : {}),
    });
  }
}

function describe(error: unknown, config: WorkerConfig): Record<string, string> {
  return {
    error_type: error instanceof Error ? error.name : typeof error,
    error_message: message(error),
    error_traceback: error instanceof Error ? (error.stack ?? '') : '',
    hostname: config.hostname,
    worker_id: config.workerId,
    slipway_version: SDK_VERSION,
  };
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
