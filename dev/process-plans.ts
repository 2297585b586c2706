/** Plans of core, the facade and the agent: environment and ports of each. */
import type { Handler } from './handler/handler.ts';
import type { LocalOptions } from './options.ts';
import type { DataDir } from './postgres/data-dir.ts';
import { coreProcess } from './processes/core-process.ts';
import { facadeProcess } from './processes/facade-process.ts';
import type { ReadyMessage } from './processes/node-process.ts';
import { nodeProcess } from './processes/node-process.ts';
import type { PreloadedPrograms } from './processes/preloaded-programs.ts';
import type { ProcessPlan } from './processes/supervised-process.ts';
import type { Progress } from './progress.ts';
import { secretFiles } from './secret-files.ts';
import type { Secrets } from './secrets.ts';
import { ACCOUNT_NAME } from './setup.ts';
import { chooseWorkerUser } from './worker-user.ts';

const HTTP_HOST = '127.0.0.1';
/** Locations of the machine. `*`: it also takes work for other data centres, which clients name explicitly. */
const LOCATION = 'local,*';

/** Options of the launcher. */
export interface LauncherOptions {
  options: LocalOptions;
  root: string;
  /** Environment that every process inherits. */
  env: Readonly<Record<string, string | undefined>>;
  progress: Progress;
  /** Processes that have loaded their code. Default: none. */
  preloaded?: PreloadedPrograms | undefined;
  /** Called when core reports activity. Default: not called. */
  onActivity?: (() => void) | undefined;
}

/** Returns the address that the facade listens on, without its port. */
export function httpHost(env: LauncherOptions['env']): string {
  return env.SLIPWAY_HTTP_HOST || HTTP_HOST;
}

/** Returns the metrics setting of a process. `index`: 0 to 2; each process has its own port. */
function metricsSetting({ metricsPort }: LocalOptions, index: number): Record<string, string> {
  return { SLIPWAY_METRICS_LISTEN: metricsPort === undefined ? '' : `127.0.0.1:${metricsPort + index}` };
}

/** Returns the plan of core. Its start resolves to its gRPC address. */
export function corePlan(
  { options, root, env, preloaded, onActivity }: LauncherOptions,
  database: { url: string; dataDir: string },
  data: DataDir,
  secrets: Secrets,
): Promise<ProcessPlan<string>> {
  // Webhooks of the developer's own account may point to this machine. Those of other accounts may not.
  const allowPrivate = options.webhooksToPrivate ? 'true' : env.SLIPWAY_WEBHOOK_ALLOW_PRIVATE || ACCOUNT_NAME;
  return coreProcess({
    root,
    portFile: data.corePortFile,
    joinAddress: options.joinAddress,
    logDir: data.logDir,
    preloaded,
    cacheDir: data.cacheDir,
    onActivity,
    env: () => ({
      ...env,
      ...metricsSetting(options, 0),
      SLIPWAY_WEBHOOK_ALLOW_PRIVATE: allowPrivate,
      ...(database.dataDir !== '' && { SLIPWAY_DATABASE_DIR: database.dataDir }),
      ...secretFiles(data.secretsDir, {
        SLIPWAY_DATABASE_URL: database.url,
        SLIPWAY_ROOT_KEY: secrets.rootKey,
        SLIPWAY_SECRET_KEY: secrets.sealKey,
      }),
    }),
  });
}

/** Returns the plan of the HTTP facade. */
export function facadePlan(
  { options, root, env, preloaded }: LauncherOptions,
  coreAddress: string,
  data: DataDir,
): ProcessPlan<ReadyMessage> {
  return facadeProcess({
    root,
    host: httpHost(env),
    port: options.port,
    logDir: data.logDir,
    preloaded,
    cacheDir: data.cacheDir,
    env: () => ({
      ...env,
      ...metricsSetting(options, 1),
      SLIPWAY_CORE_ADDRESS: coreAddress,
      // A faster start counts more here than a fast first GraphQL request.
      SLIPWAY_GRAPHQL_AT_START: env.SLIPWAY_GRAPHQL_AT_START || 'false',
    }),
  });
}

/** Returns the plan of the agent. `workerUser` is its SLIPWAY_WORKER_USER. */
export function agentPlan(
  { options, root, env, preloaded }: LauncherOptions,
  coreAddress: string,
  data: DataDir,
  secrets: Secrets,
  workerUser: string,
): ProcessPlan<ReadyMessage> {
  const plan = nodeProcess({
    name: 'agent',
    root,
    file: 'gpu-agent/main',
    logDir: data.logDir,
    preloaded,
    cacheDir: data.cacheDir,
    env: () => ({
      ...env,
      ...metricsSetting(options, 2),
      SLIPWAY_CORE_ADDRESS: coreAddress,
      SLIPWAY_AGENT_DATA_DIR: data.agentDir,
      SLIPWAY_WORKER_USER: workerUser,
      // A handler is a command of this machine, typed by the machine's owner.
      SLIPWAY_AGENT_ALLOW_COMMANDS: env.SLIPWAY_AGENT_ALLOW_COMMANDS || 'true',
      // A network volume belongs to a data centre. Without a data centre it could not be used.
      SLIPWAY_AGENT_LOCATIONS: env.SLIPWAY_AGENT_LOCATIONS || LOCATION,
      SLIPWAY_PUBLIC_HOST: env.SLIPWAY_PUBLIC_HOST || '127.0.0.1',
      ...secretFiles(data.secretsDir, { SLIPWAY_AGENT_KEY: secrets.agentKey }),
    }),
  });
  // With SIGINT the agent leaves no container behind.
  return { ...plan, stopSignal: 'SIGINT' };
}

/** Returns the agent's SLIPWAY_WORKER_USER. A setting in the environment wins. */
export async function workerUserSetting(
  { env, progress, options }: LauncherOptions,
  handler: Handler,
  data: DataDir,
): Promise<string> {
  const { setting, problem } = await chooseWorkerUser(handler, data.dir);
  if (problem !== undefined && options.agent && !env.SLIPWAY_WORKER_USER) progress.problem(problem);
  return env.SLIPWAY_WORKER_USER || setting;
}
