/** Two nodes of PostgreSQL kept by Patroni with deploy/patroni/patroni.yml, and one etcd, all on this host. */
import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { quietPort } from '../../helpers/net/ports.ts';
import { openFolder } from '../../helpers/open-folder.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const root = join(import.meta.dirname, '../../..');
const PASSWORD = 'failover-by-hand';
const ASK_MS = 1_000;

/** The programs. */
export interface Programs {
  patroni: string;
  etcd: string;
}

/** State of the members from Patroni's REST API. */
interface Members {
  members: { role: string; state: string }[];
}

/** Returns a process and all that descend from it. */
function tree(pid: number): number[] {
  const rows = execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  const children = rows
    .map((row) => row.trim().split(/\s+/).map(Number))
    .filter(([, parent]) => parent === pid)
    .map(([child]) => child!);
  return [pid, ...children.flatMap(tree)];
}

async function startEtcd(t: Test, program: string, folder: string): Promise<string> {
  const client = `127.0.0.1:${await quietPort()}`;
  const peer = `http://127.0.0.1:${await quietPort()}`;
  const child = spawn(
    program,
    [
      `--data-dir=${join(folder, 'etcd')}`,
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

/** A node: PostgreSQL and its Patroni. */
export class Node {
  readonly name: string;
  readonly port: number;
  /** URL of Patroni's REST API. */
  readonly api: string;
  readonly #home: string;
  readonly #program: string;
  readonly #env: Record<string, string | undefined>;
  #child: ChildProcess | undefined;
  /** The last lines of Patroni. */
  log = '';

  constructor(name: string, ports: [number, number], { folder, etcd, patroni }: Programs & { folder: string }) {
    const [port, api] = ports;
    const bin = join('/usr/lib/postgresql', readdirSync('/usr/lib/postgresql').sort().at(-1)!, 'bin');
    this.name = name;
    this.port = port;
    this.api = `http://127.0.0.1:${api}`;
    this.#home = join(folder, name);
    this.#program = patroni;
    this.#env = {
      PATH: process.env['PATH'],
      PATRONI_NAME: name,
      PATRONI_RESTAPI_LISTEN: `127.0.0.1:${api}`,
      PATRONI_RESTAPI_CONNECT_ADDRESS: `127.0.0.1:${api}`,
      PATRONI_ETCD3_HOSTS: etcd,
      PATRONI_POSTGRESQL_LISTEN: `127.0.0.1:${port}`,
      PATRONI_POSTGRESQL_CONNECT_ADDRESS: `127.0.0.1:${port}`,
      PATRONI_POSTGRESQL_DATA_DIR: join(this.#home, 'data'),
      PATRONI_POSTGRESQL_BIN_DIR: bin,
      PATRONI_SUPERUSER_PASSWORD: PASSWORD,
      PATRONI_REPLICATION_PASSWORD: PASSWORD,
      PATRONI_REWIND_PASSWORD: PASSWORD,
    };
    mkdirSync(this.#home);
    execFileSync('chown', ['postgres:', this.#home]);
    chmodSync(this.#home, 0o700);
  }

  start(): void {
    const args = ['--reuid=postgres', '--regid=postgres', '--init-groups', this.#program, '../patroni.yml'];
    const options = { env: this.#env, cwd: this.#home, stdio: ['ignore', 'pipe', 'pipe'] } as const;
    const child = spawn('setpriv', args, options as never) as ChildProcess;
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (part: Buffer) => {
        this.log = (this.log + String(part)).slice(-6_000);
      });
    this.#child = child;
  }

  async role(): Promise<string> {
    const answer = await fetch(`${this.api}/patroni`, { signal: AbortSignal.timeout(ASK_MS) });
    return ((await answer.json()) as { role: string }).role;
  }

  /** Signals all processes of PostgreSQL. */
  signalDatabase(signal: NodeJS.Signals): void {
    const pid = Number(readFileSync(join(this.#home, 'data/postmaster.pid'), 'utf8').split('\n')[0]);
    for (const each of tree(pid)) kill(each, signal);
  }

  /** Signals those and Patroni, as if the host was gone or stood still. */
  signalAll(signal: NodeJS.Signals): void {
    for (const each of tree(this.#child!.pid!)) kill(each, signal);
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

/** Starts all of it. Resolves when there are a primary and a synchronous standby. */
export async function startCluster(t: Test, programs: Programs) {
  const folder = await openFolder(t);
  const etcd = await startEtcd(t, programs.etcd, folder);
  copyFileSync(join(root, 'deploy/patroni/patroni.yml'), join(folder, 'patroni.yml'));
  const nodes: Node[] = [];
  for (const name of ['db-1', 'db-2']) {
    const node = new Node(name, [await quietPort(), await quietPort()], { ...programs, etcd, folder });
    nodes.push(node);
    t.teardown(() => {
      if (!t.passing()) t.comment(`${name}: ${node.log}`);
      node.signalAll('SIGKILL');
    });
  }
  const primary = async (): Promise<Node> => {
    for (const node of nodes) if ((await node.role().catch(() => '')) === 'primary') return node;
    throw new Error('there is no primary');
  };
  const isWhole = async (): Promise<boolean> => {
    const { members } = (await (await fetch(`${nodes[0]!.api}/cluster`)).json()) as Members;
    const standby = members.find(({ role }) => role === 'sync_standby');
    return members.some(({ role }) => role === 'leader') && standby?.state === 'streaming';
  };
  nodes[0]!.start();
  await waitFor('a primary', primary);
  nodes[1]!.start();
  await waitFor('a synchronous standby', isWhole);
  const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`).join();
  return {
    nodes,
    primary,
    /** Both nodes are there, and the standby has all that the primary has. */
    isWhole,
    /** Address of a database on whichever node is the primary. */
    url: (name: string): string => `postgres://postgres:${PASSWORD}@${hosts}/${name}?target_session_attrs=primary`,
  };
}
