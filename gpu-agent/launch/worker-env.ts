/**
 * The environment of a worker: the variables of docs/reference/worker-protocol.md#environment override the template's,
 * which override a few of the host's. Pure.
 */

import type { HostFacts } from './host-env.ts';
import { gpuVariables, hostDefaults, nameVariables } from './host-env.ts';

/** Facts from which a worker's environment is built. */
export interface WorkerEnvFacts extends HostFacts {
  workerId: string;
  endpointId: string;
  /**
   * Token that authenticates the worker to the bridge. It is part of every address, because the Authorization header
   * may hold another credential (docs/reference/worker-protocol.md#routes).
   */
  token: string;
  /** Address of the bridge, for instance `http://127.0.0.1:9000`. */
  bridgeUrl: string;
  /** The template's and the endpoint's variables. */
  userEnv: Readonly<Record<string, string>>;
  /** Seconds that it may take to ask for work. */
  initTimeoutSeconds: number;
  /** The hub's cache with its models, for a command of the host. `undefined`: they are where images find them. */
  modelCache?: string | undefined;
  /**
   * Variables that say where it must serve HTTP. Such a worker does not use the worker protocol and gets no address of
   * the bridge. `undefined` if it asks for work.
   */
  httpVariables?: Readonly<Record<string, string>> | undefined;
}

/** Milliseconds between pings. Below 1000 the Python SDK loops without a pause. */
const PING_INTERVAL_MS = 3_000;
const PING_INTERVAL_MS_MIN = 1_000;
/** Variables that would switch the SDK to another mode (docs/reference/worker-protocol.md#environment). */
const REMOVED = /^RUNPOD_(REALTIME_PORT|REALTIME_CONCURRENCY|USE_CORE|CORE_PATH|SLS_CORE.*)$/;

/** Returns the complete environment of a worker's process. */
export function buildWorkerEnv(facts: WorkerEnvFacts): Record<string, string> {
  const user = Object.fromEntries(Object.entries(facts.userEnv).filter(([name]) => !REMOVED.test(name)));
  const gpus = gpuVariables(facts, user.CUDA_VISIBLE_DEVICES);
  const env = {
    ...facts.hostEnv,
    ...defaults(facts),
    ...user,
    ...gpus,
    ...identity(facts),
    ...(facts.httpVariables ?? addresses(facts)),
  };
  if (!(Number(env.RUNPOD_PING_INTERVAL) >= PING_INTERVAL_MS_MIN)) env.RUNPOD_PING_INTERVAL = String(PING_INTERVAL_MS);
  return { ...env, ...proxyExceptions(env, new URL(facts.bridgeUrl).hostname) };
}

/** Returns the variables that a template may override. */
function defaults(facts: WorkerEnvFacts): Record<string, string> {
  const hasRealGpu = facts.gpus.some((gpu) => !gpu.virtual);
  return {
    ...hostDefaults(facts),
    RUNPOD_PING_INTERVAL: String(PING_INTERVAL_MS),
    // The SDK's own default writes a dozen lines for each job.
    RUNPOD_DEBUG_LEVEL: 'INFO',
    // One of these checks needs a public DNS server.
    RUNPOD_SKIP_AUTO_SYSTEM_CHECKS: 'true',
    ...(hasRealGpu ? {} : { RUNPOD_SKIP_GPU_CHECK: 'true' }),
    // Object stores on a private network have private addresses.
    RUNPOD_ALLOW_PRIVATE_DOWNLOAD_URLS: 'true',
    RUNPOD_INIT_TIMEOUT: String(facts.initTimeoutSeconds),
    ...(facts.modelCache === undefined ? {} : { HF_HUB_CACHE: facts.modelCache }),
  };
}

function identity(facts: WorkerEnvFacts): Record<string, string> {
  return {
    ...nameVariables(facts.workerId, facts),
    RUNPOD_ENDPOINT_ID: facts.endpointId,
    ...(facts.httpVariables ? {} : { RUNPOD_AI_API_KEY: facts.token }),
  };
}

/**
 * Returns the four address templates of docs/reference/worker-protocol.md#environment. `$ID` and `$RUNPOD_POD_ID` are
 * left unchanged: the SDK replaces them.
 */
function addresses(facts: WorkerEnvFacts): Record<string, string> {
  const base = `${facts.bridgeUrl}/v2/${facts.endpointId}/${facts.token}`;
  const query = `?gpu=${encodeURIComponent(facts.gpus[0]?.name ?? 'cpu').replaceAll('%20', '+')}`;
  return {
    RUNPOD_WEBHOOK_GET_JOB: `${base}/job-take/$ID${query}`,
    RUNPOD_WEBHOOK_POST_OUTPUT: `${base}/job-done/$RUNPOD_POD_ID/$ID${query}`,
    RUNPOD_WEBHOOK_POST_STREAM: `${base}/job-stream/$RUNPOD_POD_ID/$ID${query}`,
    RUNPOD_WEBHOOK_PING: `${base}/ping/$RUNPOD_POD_ID${query}`,
  };
}

/**
 * Returns the hosts that bypass a proxy. The SDK's pings honour proxy variables, and calls to the bridge must never
 * leave the host.
 */
function proxyExceptions(env: Readonly<Record<string, string>>, bridgeHost: string): Record<string, string> {
  const local = ['127.0.0.1', 'localhost', bridgeHost];
  const listed = (env.NO_PROXY ?? env.no_proxy ?? '').split(',').filter((part) => part !== '');
  const all = [...new Set([...listed, ...local])].join(',');
  return { NO_PROXY: all, no_proxy: all };
}
