/** Two nodes of PostgreSQL kept by Patroni with deploy/patroni/patroni.yml, and one etcd: on this host, or on three. */
import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kubeProgram } from '@slipway/tools/kube/kube-programs';
import type { Test } from 'tap';
import { parse, stringify } from 'yaml';
import { placeOf, QUICK } from '../../helpers/db/throwaway-postgres.ts';
import { requireDeclared } from '../../helpers/declared.ts';
import { skipWithoutKube } from '../../helpers/kube/cluster.ts';
import { quietPort } from '../../helpers/net/ports.ts';
import { openFolder } from '../../helpers/open-folder.ts';
import { descendants } from '../../helpers/system/process-table.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const root = join(import.meta.dirname, '../../..');
const BIN = join(root, '.slipway-test/patroni/bin');
/** By its interpreter: the first line of a copied program names the folder that it was made in. */
const PATRONI = [join(BIN, 'python'), join(BIN, 'patroni')] as const;
const SHIPPED = join(root, 'deploy/patroni');
/** Command of deploy/patroni/silent_primary.py, to which its arguments are added. */
export const SILENT_PRIMARY = [PATRONI[0], join(SHIPPED, 'silent_primary.py')] as const;
/** The configuration in deploy. */
export const SHIPPED_CONFIG = join(SHIPPED, 'patroni.yml');
/** Seen from a node's folder. */
const CONFIG = '../patroni.yml';
const POSTGRESQL = '/usr/lib/postgresql';
const PASSWORD = 'failover-of-a-test';
const ASK_MS = 1_000;
const START_MS_MAX = 180_000;

/** Time limits of Patroni's that are not those of deploy/patroni. */
const LIMITS = {
  /** None decides what happens, however slow the machine is. */
  patient: { ttl: 300, retry_timeout: 60 },
};
// Processes are killed, never the machine: the kernel keeps what they wrote.
const PARAMETERS = {
  ...{ fsync: 'off', wal_sender_timeout: '300s' },
  ...{ wal_receiver_timeout: '300s', tcp_user_timeout: '300s' },
};

/** Where a part runs. */
export interface Place {
  address: string;
  /** Command that runs the words behind it there. */
  inside: readonly string[];
}

interface ClusterOptions {
  /** Default: all settings are those of deploy/patroni. */
  limits?: keyof typeof LIMITS;
  /** Seconds after which deploy/patroni/silent_primary.py replaces a silent primary. Default: it does not run. */
  silentSeconds?: number;
  /** Places of etcd and of the two nodes. Default: this host. */
  places?: readonly Place[];
}

/** This host. */
export const HERE: Place = { address: '127.0.0.1', inside: [] };

/** The parts of patroni.yml that tests change. */
interface PatroniFile {
  bootstrap: {
    dcs: { postgresql: { parameters: Record<string, unknown> } } & Record<string, unknown>;
    initdb: (string | Record<string, string>)[];
  };
}

/** For tap's `skip` option: false if a cluster can be started, else one line that says what to do. */
export function skipWithoutPatroni(): false | string {
  requireDeclared('patroni');
  if (process.getuid!() !== 0) return 'needs root: it runs database servers as the user postgres';
  if (!existsSync(PATRONI[1])) return 'needs Patroni: run `npm run test:python`';
  if (!existsSync(POSTGRESQL)) return 'needs all programs of PostgreSQL: apt-get install postgresql';
  return skipWithoutKube();
}

/** State of the members from Patroni's REST API. */
interface Members {
  members: { role: string; state: string }[];
}

/** Starts etcd. Returns its host:port. */
export async function startEtcd(t: Test, folder: string, { address, inside }: Place): Promise<string> {
  const client = `${address}:${await quietPort()}`;
  const peer = `http://${address}:${await quietPort()}`;
  const [program = '', ...args] = [...inside, kubeProgram('etcd')];
  const child = spawn(
    program,
    [
      ...args,
      `--data-dir=${join(folder, 'etcd')}`,
      '--unsafe-no-fsync',
      `--listen-client-urls=http://${client}`,
      `--advertise-client-urls=http://${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
    ],
    { stdio: 'ignore' },
  );
  t.teardown(() => void child.kill('SIGKILL'));
  await waitFor('etcd', async () => (await fetch(`http://${client}/health`)).ok);
  return client;
}

interface NodeParts extends Pick<ClusterOptions, 'silentSeconds'> {
  folder: string;
  /** host:port of etcd. */
  etcd: string;
  place: Place;
}

/** A node: PostgreSQL and its Patroni. */
export class Node {
  readonly name: string;
  readonly port: number;
  /** host:port of PostgreSQL. */
  readonly host: string;
  /** URL of Patroni's REST API. */
  readonly api: string;
  readonly #home: string;
  readonly #inside: readonly string[];
  readonly #env: Record<string, string | undefined>;
  readonly #silentSeconds: number | undefined;
  /** Patroni, and the program that watches the primary. */
  #children: ChildProcess[] = [];
  /** Their last lines. */
  log = '';

  constructor(name: string, ports: [number, number], { folder, etcd, place, silentSeconds }: NodeParts) {
    const [port, api] = ports;
    const { address, inside } = place;
    const bin = join(POSTGRESQL, readdirSync(POSTGRESQL).sort().at(-1)!, 'bin');
    this.name = name;
    this.port = port;
    this.api = `http://${address}:${api}`;
    this.host = `${address}:${port}`;
    this.#inside = inside;
    this.#silentSeconds = silentSeconds;
    this.#home = join(folder, name);
    this.#env = {
      PATH: process.env['PATH'],
      PATRONI_NAME: name,
      PATRONI_RESTAPI_LISTEN: `${address}:${api}`,
      PATRONI_RESTAPI_CONNECT_ADDRESS: `${address}:${api}`,
      PATRONI_ETCD3_HOSTS: etcd,
      PATRONI_POSTGRESQL_LISTEN: `${address}:${port}`,
      PATRONI_POSTGRESQL_CONNECT_ADDRESS: `${address}:${port}`,
      PATRONI_POSTGRESQL_DATA_DIR: join(this.#home, 'data'),
      PATRONI_POSTGRESQL_BIN_DIR: bin,
      // By default it is in the home of the user postgres, which all nodes of this machine share.
      PATRONI_POSTGRESQL_PGPASS: join(this.#home, 'pgpass'),
      PATRONI_SUPERUSER_PASSWORD: PASSWORD,
      PATRONI_REPLICATION_PASSWORD: PASSWORD,
      PATRONI_REWIND_PASSWORD: PASSWORD,
    };
    mkdirSync(this.#home);
    execFileSync('chown', ['postgres:', this.#home]);
    chmodSync(this.#home, 0o700);
  }

  start(): void {
    this.#children = [this.#spawn([...PATRONI, CONFIG])];
    if (this.#silentSeconds === undefined) return;
    this.#children.push(this.#spawn([...SILENT_PRIMARY, '--silent', `${this.#silentSeconds}`, CONFIG]));
  }

  #spawn(command: readonly string[]): ChildProcess {
    const user = ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups'];
    const [program = '', ...args] = [...this.#inside, ...user, ...command];
    const options = { env: this.#env, cwd: this.#home, stdio: ['ignore', 'pipe', 'pipe'] } as const;
    const child = spawn(program, args, options as never) as ChildProcess;
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (part: Buffer) => {
        this.log = (this.log + String(part)).slice(-6_000);
      });
    return child;
  }

  async role(): Promise<string> {
    const answer = await fetch(`${this.api}/patroni`, { signal: AbortSignal.timeout(ASK_MS) });
    return ((await answer.json()) as { role: string }).role;
  }

  /** Hands the role of the primary over to the other node. */
  async switchOver(other: Node): Promise<void> {
    const body = JSON.stringify({ leader: this.name, candidate: other.name });
    const answer = await fetch(`${this.api}/switchover`, { method: 'POST', body });
    if (!answer.ok) throw new Error(await answer.text());
  }

  /** Signals all processes of PostgreSQL. */
  signalDatabase(signal: NodeJS.Signals): void {
    const pid = Number(readFileSync(join(this.#home, 'data/postmaster.pid'), 'utf8').split('\n')[0]);
    const all = descendants(pid);
    // The file may be that of a server that was killed, and its number another process's by now.
    if (!all[0]?.command.includes(this.#home)) throw new Error(`PostgreSQL of ${this.name} does not run`);
    for (const each of all) kill(each.pid, signal);
  }

  /** Signals Patroni alone. */
  signalPatroni(signal: NodeJS.Signals): void {
    this.#children[0]!.kill(signal);
  }

  /** Signals all of them, as if the host was gone or stood still. */
  signalAll(signal: NodeJS.Signals): void {
    for (const { pid } of this.#children) for (const each of descendants(pid ?? 0)) kill(each.pid, signal);
    try {
      this.signalDatabase(signal);
    } catch {
      // PostgreSQL has ended.
    }
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}

/** Writes the configuration of both nodes: the one in deploy, with other limits if they are given. */
function writeConfig(file: string, limits: ClusterOptions['limits']): void {
  const shipped = readFileSync(SHIPPED_CONFIG, 'utf8');
  const config = parse(shipped) as PatroniFile;
  const { dcs, initdb } = config.bootstrap;
  if (limits) {
    Object.assign(dcs, LIMITS[limits]);
    Object.assign(dcs.postgresql.parameters, PARAMETERS);
    initdb.push('no-sync');
  }
  writeFileSync(file, stringify(config));
}

/** Starts all of it. Resolves when there are a primary and a synchronous standby. */
export async function startCluster(t: Test, options: ClusterOptions = {}) {
  const { limits, places = [HERE, HERE, HERE] } = options;
  const folder = await openFolder(t, limits ? await placeOf(QUICK) : tmpdir());
  const [etcdPlace, ...nodePlaces] = places;
  const etcd = await startEtcd(t, folder, etcdPlace!);
  writeConfig(join(folder, 'patroni.yml'), limits);
  const nodes: Node[] = [];
  for (const [index, place] of nodePlaces.entries()) {
    const node = new Node(`db-${index + 1}`, [await quietPort(), await quietPort()], {
      ...options,
      folder,
      etcd,
      place,
    });
    nodes.push(node);
    t.teardown(() => {
      if (!t.passing()) t.comment(`${node.name}: ${node.log}`);
      node.signalAll('SIGKILL');
    });
  }
  const primary = async (): Promise<Node> => {
    for (const node of nodes) if ((await node.role().catch(() => '')) === 'primary') return node;
    throw new Error('there is no primary');
  };
  const isWhole = async (): Promise<boolean> => {
    const answer = await fetch(`${nodes[0]!.api}/cluster`, { signal: AbortSignal.timeout(ASK_MS) });
    const { members } = (await answer.json()) as Members;
    const standby = members.find(({ role }) => role === 'sync_standby');
    return members.some(({ role }) => role === 'leader') && standby?.state === 'streaming';
  };
  nodes[0]!.start();
  await waitFor('a primary', primary, START_MS_MAX);
  nodes[1]!.start();
  await waitFor('a synchronous standby', isWhole, START_MS_MAX);
  const hosts = nodes.map(({ host }) => host).join();
  return {
    nodes,
    primary,
    /** Both nodes are there, and the standby has all that the primary has. */
    isWhole,
    /** Address of a database on whichever node is the primary. */
    url: (name: string): string => `postgres://postgres:${PASSWORD}@${hosts}/${name}?target_session_attrs=primary`,
    /** The same by one host that leads there. */
    urlAt: (host: string, name: string): string =>
      `postgres://postgres:${PASSWORD}@${host}/${name}?target_session_attrs=primary`,
  };
}
