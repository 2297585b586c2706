/**
 * A fresh Slipway for one part of the bench: its own database, core and facade as processes, an account, and an
 * endpoint.
 */
import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { NODE_FLAGS } from '@slipway/kit/host/node-settings';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { GrpcClients } from '@slipway/test/helpers/grpc/grpc-clients';
import { call, grpcClients } from '@slipway/test/helpers/grpc/grpc-clients';
import postgres from 'postgres';
import { Child, ROOT } from '../child.ts';
import type { Bench } from './bench.ts';

/** The maximum length of a queue depends on it (docs/reference/api.md#queue-length). */
const WORKERS_MAX = 10_000;

/** A program of a stack: a process, or a part of a process. */
type Program = Pick<Child, 'pid' | 'ready' | 'ask' | 'stop'>;
/** Starts a program. */
export type StartProgram = (program: 'core' | 'facade', env: Record<string, string>) => Promise<Program>;

/** A running Slipway. */
export interface Stack {
  url: string;
  coreAddress: string;
  /** The edges' key that core and the facade have. */
  edgeKey: string;
  key: string;
  /** Creates a key for a machine. Each machine needs its own. */
  newAgentKey(): Promise<string>;
  /** Process ids, for CPU and memory. `core` is the first replica. */
  processes: { core: number; facade: number; postgres: number };
  /** Further replicas of core. */
  replicas: Program[];
  /** Programs that can be asked questions, see `watchLoops`. */
  children: { core: Program; facade: Program };
  clients: GrpcClients;
  databaseUrl: string;
  /** Connection to the database. */
  sql: postgres.Sql;
  /** Checkout whose programs run. */
  root: string;
  /** Variables of the programs, besides the bench's own. */
  env: Record<string, string>;
  /** Returns Node's flags for a program under test. */
  flags(program: string): string[];
  /**
   * Creates an endpoint that keeps at least `workers` workers. Returns its id. It belongs to the account of `ownerKey`.
   * Default: the first account.
   */
  createEndpoint(workers: number, command: string[], ownerKey?: string): Promise<string>;
  /** Creates an account and returns a key of it. */
  newAccountKey(): Promise<string>;
  stop(): Promise<void>;
}

/**
 * Starts a stack. `env`: further variables of its programs. `watchLoops`: makes the programs answer `loopMs`, see
 * loop-delay.ts. `root`: another checkout to start. `cores`: replicas of core; the facade uses all of them. `start`:
 * starts a program. Default: each one as a separate process.
 */
export async function startStack(
  bench: Bench,
  env: Record<string, string> = {},
  {
    watchLoops = false,
    root = ROOT,
    cores = 1,
    start,
  }: { watchLoops?: boolean; root?: string; cores?: number; start?: StartProgram } = {},
): Promise<Stack> {
  const watched = watchLoops ? ['--import', join(import.meta.dirname, '../load/loop-delay.ts')] : [];
  const name = `bench_${randomBytes(4).toString('hex')}`;
  const admin = postgres(bench.database.url, { max: 1 });
  await admin`CREATE DATABASE ${admin(name)}`;
  const databaseUrl = bench.database.url.replace(/\/[^/]*$/, `/${name}`);
  const rootKey = randomBytes(24).toString('hex');
  const edgeKey = randomBytes(24).toString('hex');
  const stops: (() => Promise<void>)[] = [
    async () => {
      await admin`DROP DATABASE ${admin(name)} WITH (FORCE)`;
      await admin.end();
    },
  ];
  const stop = async (): Promise<void> => {
    for (const each of stops.toReversed()) await each();
  };
  const profiled = (program: string): string[] =>
    bench.options.profile === undefined
      ? []
      : [
          '--cpu-prof',
          `--cpu-prof-dir=${resolve(workingFolder(), bench.options.profile)}`,
          `--cpu-prof-name=${program}-${name}.cpuprofile`,
        ];
  const flags = (program: string): string[] => [...NODE_FLAGS, ...watched, ...profiled(program)];
  const files = { core: 'core/main.ts', facade: 'facades/main.ts' };
  const startProgram: StartProgram =
    start ?? ((program, variables) => Child.start(join(root, files[program]), variables, flags(program)));
  try {
    const secretKey = randomBytes(32).toString('hex');
    const startCore = async (): Promise<Program> => {
      const child = await startProgram('core', {
        SLIPWAY_DATABASE_URL: databaseUrl,
        SLIPWAY_CORE_LISTEN: '127.0.0.1:0',
        SLIPWAY_ROOT_KEY: rootKey,
        SLIPWAY_EDGE_KEY: edgeKey,
        SLIPWAY_SECRET_KEY: secretKey,
        SLIPWAY_LOG_LEVEL: 'warn',
        ...env,
      });
      stops.push(() => child.stop());
      return child;
    };
    const core = await startCore();
    const replicas: Program[] = [];
    while (replicas.length < cores - 1) replicas.push(await startCore());
    const coreAddress = core.ready.address!;
    const facade = await startProgram('facade', {
      SLIPWAY_CORE_ADDRESS: [core, ...replicas].map((child) => child.ready.address!).join(','),
      SLIPWAY_HTTP_HOST: '127.0.0.1',
      SLIPWAY_HTTP_PORT: '0',
      SLIPWAY_RATE_LIMITS: 'false',
      SLIPWAY_LOG_LEVEL: 'warn',
      SLIPWAY_EDGE_KEY: edgeKey,
      ...env,
    });
    stops.push(() => facade.stop());
    const clients = grpcClients(coreAddress);
    stops.push(async () => clients.close());
    const sql = postgres(databaseUrl, { max: 1 });
    stops.push(() => sql.end());
    const newAccount = async (): Promise<string> =>
      (await call(clients.access, 'createAccount', { name: `bench-${randomBytes(4).toString('hex')}` }, rootKey))
        .accountId;
    const newKey = async (scope: KeyScope): Promise<string> => {
      // Keys of machines belong to no account.
      const owner = scope === KeyScope.AGENT ? '' : await newAccount();
      const request = { name: 'bench', scope, endpointIds: [], accountId: owner, permissions: undefined };
      return (await call(clients.keys, 'createKey', request, rootKey)).secret;
    };
    const key = await newKey(KeyScope.ALL);
    const createEndpoint = async (workers: number, command: string[], ownerKey = key): Promise<string> => {
      const template = Template.fromPartial({
        name: `bench-${randomBytes(4).toString('hex')}`,
        startCommand: command,
        serverless: true,
      });
      const made = await call(clients.templates, 'createTemplate', { template }, ownerKey);
      const endpoint = Endpoint.fromPartial({
        name: template.name,
        templateId: made.template!.id,
        workersMin: workers,
      });
      const asked = { endpoint, requestId: '', workersMax: WORKERS_MAX, retryLimit: undefined };
      return (await call(clients.endpoints, 'createEndpoint', asked, ownerKey)).endpoint!.id;
    };
    const processes = { core: core.pid, facade: facade.pid, postgres: bench.database.pid };
    const newAgentKey = (): Promise<string> => newKey(KeyScope.AGENT);
    const children = { core, facade };
    return {
      url: facade.ready.url!,
      coreAddress,
      databaseUrl,
      edgeKey,
      key,
      newAgentKey,
      processes,
      replicas,
      children,
      clients,
      sql,
      root,
      env,
      flags,
      createEndpoint,
      newAccountKey: () => newKey(KeyScope.ALL),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function workingFolder(): string {
  return process.env.INIT_CWD ?? process.cwd();
}
