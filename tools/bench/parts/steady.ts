/** Part `steady`: minutes of even load. Neither the cost of a job nor the size of the tables may grow with time. */

import type { Figure } from '../figure.ts';
import type { Load, LoadResult } from '../load/load-generator.ts';
import type { Bench } from '../stack/bench.ts';
import { cpuOf, cpuPer, INPUT } from '../stack/bench.ts';
import { startMachine, workerCommand } from '../stack/machine.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/stack.ts';

const PER_SECOND = 400;
const MINUTE_S = 60;
/**
 * First minute that counts. Results of /runsync are kept for a minute and deleted soon after. From this minute on, as
 * many results leave as arrive.
 */
const FIRST_MINUTE = 3;
const GROWTH_MOST = 1.1;

interface Minute extends LoadResult {
  cpuUs: number;
  tablesMib: number;
  deadRows: number;
}

export async function measureSteady(bench: Bench): Promise<Figure[]> {
  const minutes = Math.max(bench.options.minutes, FIRST_MINUTE + 1);
  const stack = await startStack(bench);
  try {
    const endpointId = await stack.createEndpoint(2, workerCommand());
    const machine = await startMachine(stack, 'agent', endpointId);
    try {
      const all: Minute[] = [];
      for (let minute = 1; minute <= minutes; minute += 1) {
        const one = await loadMinute(bench, stack, endpointId);
        all.push(one);
        const latency = `p50 ${one.p50Ms.toFixed(1)} ms, p99 ${one.p99Ms.toFixed(1)} ms`;
        const times = `${latency}, ${one.cpuUs.toFixed(0)} µs a job`;
        bench.say(
          `minute ${minute} of ${minutes}: ${one.rate.toFixed(0)}/s, ${times}, tables ${one.tablesMib.toFixed(1)} ` +
            `MiB, ${one.deadRows} dead rows`,
        );
      }
      return figuresOf(all);
    } finally {
      await machine.stop();
    }
  } finally {
    await stack.stop();
  }
}

async function loadMinute(bench: Bench, stack: Stack, endpointId: string): Promise<Minute> {
  const { core, postgres } = stack.processes;
  const before = cpuOf({ core, postgres });
  const load: Load = {
    url: `${stack.url}/v2/${endpointId}/runsync`,
    headers: { authorization: `Bearer ${stack.key}` },
    body: `{"input":${INPUT}}`,
    expect: '"COMPLETED"',
    connections: 64,
    perSecond: PER_SECOND,
    seconds: MINUTE_S,
  };
  const result = await bench.load.ask<LoadResult>('run', load);
  const cpu = cpuPer(before, { core, postgres }, result.answers);
  const [size] = await stack.sql<{ bytes: number; dead: number }[]>`
    SELECT sum(pg_total_relation_size(relid))::float8 AS bytes, sum(n_dead_tup)::int AS dead FROM pg_stat_user_tables`;
  return { ...result, cpuUs: cpu.core! + cpu.postgres!, tablesMib: size!.bytes / 2 ** 20, deadRows: size!.dead };
}

function figuresOf(all: readonly Minute[]): Figure[] {
  const first = all[FIRST_MINUTE - 1]!;
  const last = all.at(-1)!;
  const times = `minute ${all.length} over minute ${FIRST_MINUTE}`;
  return [
    { name: `POST /runsync, ${PER_SECOND}/s, minute ${all.length}`, path: 'agent', value: last.rate, unit: '/s' },
    { name: `its p50 in minute ${FIRST_MINUTE}`, path: 'agent', value: first.p50Ms, unit: 'ms' },
    { name: `its p50 in minute ${all.length}`, path: 'agent', value: last.p50Ms, unit: 'ms' },
    { name: `tables and indexes after minute ${FIRST_MINUTE}`, path: '', value: first.tablesMib, unit: 'MiB' },
    { name: `tables and indexes after minute ${all.length}`, path: '', value: last.tablesMib, unit: 'MiB' },
    {
      name: `tables and indexes, ${times}`,
      path: '',
      value: last.tablesMib / first.tablesMib,
      unit: '×',
      target: GROWTH_MOST,
    },
    {
      name: `processor time of core and PostgreSQL for a job, ${times}`,
      path: 'agent',
      value: last.cpuUs / first.cpuUs,
      unit: '×',
      target: GROWTH_MOST,
    },
  ];
}
