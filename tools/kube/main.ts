/** `npm run kube`: starts a Kubernetes control plane on loopback and ends it with Ctrl-C. */
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { UsageError } from '@slipway/dev/options';
import { portProblem } from '@slipway/dev/ports';
import { systemClock } from '@slipway/kit/time/clock';
import { makeKube } from './build.ts';
import { startCluster } from './cluster.ts';
import { kubeFolder } from './kube-programs.ts';
import { realNodeFault } from './real-node/real-node-fault.ts';

const root = join(import.meta.dirname, '../..');
const HELP = readFileSync(new URL('./help.txt', import.meta.url), 'utf8');

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '1' },
    'gpu-nodes': { type: 'string', default: '1' },
    min: { type: 'boolean' },
    port: { type: 'string', default: '16443' },
    'real-node': { type: 'boolean' },
    build: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  },
});

const stopping = new AbortController();
const stopped = new Promise<void>((resolve) => {
  stopping.signal.addEventListener('abort', () => resolve());
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect'] as const)
  process.once(signal, () => stopping.abort());

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function count(name: 'nodes' | 'gpu-nodes'): number {
  const number = Number(values[name]);
  if (!Number.isInteger(number) || number < 0 || number > 1_000)
    throw new UsageError(`--${name} ${values[name]} is no number of nodes from 0 to 1000.`);
  return number;
}

async function ports(): Promise<[number, number, number, number]> {
  const first = Number(values.port);
  const four = [first, first + 1, first + 2, first + 3] as [number, number, number, number];
  for (const port of four)
    if ((await portProblem(port)) !== undefined)
      throw new UsageError(`Port ${port} cannot be used. Choose the first of four free ones: npm run kube -- --port N`);
  return four;
}

function requireForRealNode(): void {
  const fault = realNodeFault();
  if (fault !== undefined) throw new UsageError(fault);
  if (values.min) throw new UsageError('A real node needs the controllers: leave out --min.');
}

async function main(): Promise<void> {
  if (values.help) return void process.stdout.write(HELP);
  const [plain, withGpus] = [count('nodes'), count('gpu-nodes')];
  const four = values.build ? undefined : await ports();
  const deps = { report: say, signal: stopping.signal, clock: systemClock };
  const realNode = values['real-node'] ?? false;
  if (realNode) requireForRealNode();
  await makeKube(root, deps, realNode);
  if (four === undefined || stopping.signal.aborted) return;
  const nodes = [
    ...Array.from({ length: plain }, (_, index) => ({ name: `cpu-${index}` })),
    ...Array.from({ length: withGpus }, (_, index) => ({
      name: `gpu-${index}`,
      gpus: 8,
      labels: { 'nvidia.com/gpu.product': 'NVIDIA-H100-80GB-HBM3', 'nvidia.com/gpu.memory': '81559' },
    })),
  ];
  const cluster = await startCluster({
    folder: mkdtempSync(join(tmpdir(), 'slipway-kube-')),
    ports: four,
    controllers: !values.min,
    ...(!values.min && { nodes }),
    realNode,
  });
  say(`Kubernetes serves at ${cluster.url}. Ctrl-C ends it. In another terminal:

  export KUBECONFIG=${cluster.kubeconfig} PATH=${kubeFolder()}:$PATH
  kubectl get nodes`);
  await stopped;
  await cluster.stop();
}

process.exit(
  await main().then(
    () => 0,
    (error: unknown) => {
      process.stderr.write(`${error instanceof UsageError ? error.message : String(error)}\n`);
      return 1;
    },
  ),
);
