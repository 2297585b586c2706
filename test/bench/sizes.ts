/** Part `sizes`: jobs whose input comes back as their output, from 1 KB to 10 MB: throughput, memory, and what that does to heartbeats. */
import { HEARTBEAT_PERIOD_MS } from '../../core/domain/lease.ts';
import { cpuOf, cpuPer } from './bench.ts';
import type { Bench } from './bench.ts';
import type { Child } from './child.ts';
import type { Figure } from './figure.ts';
import type { Load, LoadResult } from './load-generator.ts';
import { NODE_WITH_HANDLERS, benchFile, startMachine } from './machine.ts';
import { memoryMib } from './process-usage.ts';
import { startStack } from './stack.ts';
import type { Stack } from './stack.ts';
import { watchLease } from './watch-lease.ts';

const SIZES = [{ name: '1 KB', bytes: 1e3 }, { name: '100 KB', bytes: 1e5 }, { name: '1 MB', bytes: 1e6 }, { name: '10 MB', bytes: 1e7 }] as const;
const CONNECTIONS = 8;
const WORKERS = 2;
const QUIET_MS = 3 * HEARTBEAT_PERIOD_MS;
const DELAY_MS_MAX = 100;
const END = 'here it ends';

export async function measureSizes(bench: Bench): Promise<Figure[]> {
  const stack = await startStack(bench, {}, { watchLoops: true });
  try {
    const endpointId = await stack.createEndpoint(WORKERS, [...NODE_WITH_HANDLERS, benchFile('echo-handler.js')]);
    const machine = await startMachine(stack, 'agent', endpointId, { workers: WORKERS });
    try {
      const quiet = watchLease(stack);
      await new Promise((resolve) => { setTimeout(resolve, QUIET_MS); });
      const quietMs = await quiet.worst();
      const programs = { ...stack.children, agent: machine.child };
      const processes = { ...stack.processes, 'agent and workers': machine.pid };
      const figures: Figure[] = [];
      for (const { name, bytes } of SIZES) {
        bench.say(`jobs of ${name} both ways, ${CONNECTIONS} connections`);
        await longestTurns(programs);
        const lease = watchLease(stack);
        const before = cpuOf(processes);
        const { rate, p50Ms, answers } = await bench.load.ask<LoadResult>('run', loadOf(bench, stack, endpointId, bytes));
        const delayMs = Math.max(await lease.worst() - quietMs, 0);
        figures.push(
          { name: `${name} both ways`, path: 'agent', value: 2 * bytes * rate / 1e6, unit: 'MB/s', cpu: cpuPer(before, processes, answers) },
          { name: `${name} both ways, p50`, path: 'agent', value: p50Ms, unit: 'ms' },
          { name: `${name} both ways, delay of a heartbeat`, path: 'agent', value: delayMs, unit: 'ms', target: DELAY_MS_MAX },
          ...(await longestTurns(programs)).map(({ program, ms }): Figure => (
            { name: `${name} both ways, longest turn of ${program}`, path: 'agent', value: ms, unit: 'ms' })),
        );
      }
      const pids = { core: stack.processes.core, facade: stack.processes.facade, agent: machine.pid };
      for (const [name, pid] of Object.entries(pids)) figures.push({ name: `most memory of ${name}`, path: '', value: memoryMib(pid).peak, unit: 'MiB' });
      return figures;
    } finally {
      await machine.stop();
    }
  } finally {
    await stack.stop();
  }
}

/** The longest time for which each program's event loop was busy since they were last asked. */
async function longestTurns(programs: Record<string, Pick<Child, 'ask'>>): Promise<{ program: string; ms: number }[]> {
  return Promise.all(Object.entries(programs).map(async ([program, child]) => ({ program, ms: await child.ask<number>('loopMs') })));
}

/** Each answer must have the input as its output, up to its end. */
function loadOf(bench: Bench, stack: Stack, endpointId: string, bytes: number): Load {
  const input = JSON.stringify({ blob: 'x'.repeat(Math.max(bytes - 50, 1)), end: END });
  return {
    url: `${stack.url}/v2/${endpointId}/runsync`, headers: { authorization: `Bearer ${stack.key}` }, body: `{"input":${input}}`,
    expect: `"end":"${END}"`, connections: CONNECTIONS, seconds: bench.options.seconds,
  };
}
