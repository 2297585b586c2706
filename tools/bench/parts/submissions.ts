/** Parts `run` and `runsync`: rates and latencies for callers over HTTP. */

import type { Figure } from '../figure.ts';
import type { Bench } from '../stack/bench.ts';
import { INPUT, loadFigures, measureLoad } from '../stack/bench.ts';
import type { MachineKind } from '../stack/machine.ts';
import { SHAPES, startMachine, workerCommand } from '../stack/machine.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/stack.ts';

/** Targets for core and the facade. The cost of a job in the agent and its worker depends on the handler. */
const RUN_RATE_MIN = 5_000;
const RUNSYNC_RATE_MIN = 2_500;
const RUNSYNC_P50_MS_MAX = 3;

/** Measures how fast jobs are accepted while no worker takes them. Every answer means that the job is on disk. */
export async function measureRun(bench: Bench): Promise<Figure[]> {
  const stack = await startStack(bench);
  try {
    const endpointId = await stack.createEndpoint(0, workerCommand());
    bench.say('POST /run, 64 connections, no workers');
    const result = await measureLoad(
      bench,
      { ...loadOn(stack, `/v2/${endpointId}/run`), expect: '"IN_QUEUE"', connections: 64 },
      processesOf(bench, stack),
    );
    const [rate, ...times] = loadFigures('POST /run ×64', '', result, true);
    return [{ ...rate!, target: RUN_RATE_MIN, ofInserts: true }, ...times];
  } finally {
    await stack.stop();
  }
}

/** Measures the time from request to result. */
export async function measureRunsync(bench: Bench, kind: MachineKind): Promise<Figure[]> {
  const stack = await startStack(bench);
  try {
    const endpointId = await stack.createEndpoint(SHAPES[kind].workers, workerCommand());
    const machine = await startMachine(stack, kind, endpointId);
    try {
      const load = { ...loadOn(stack, `/v2/${endpointId}/runsync`), expect: '"COMPLETED"' };
      const processes = { ...processesOf(bench, stack), machine: machine.pid };
      bench.say(`POST /runsync, 1 connection, ${kind}`);
      const one = loadFigures(
        'POST /runsync ×1',
        kind,
        await measureLoad(bench, { ...load, connections: 1 }, processes),
        false,
      );
      bench.say(`POST /runsync, 64 connections, ${kind}`);
      const many = loadFigures(
        'POST /runsync ×64',
        kind,
        await measureLoad(bench, { ...load, connections: 64 }, processes),
        true,
      );
      if (kind === 'session') {
        one[1]!.target = RUNSYNC_P50_MS_MAX;
        many[0]!.target = RUNSYNC_RATE_MIN;
      }
      return [...one, ...many];
    } finally {
      await machine.stop();
    }
  } finally {
    await stack.stop();
  }
}

function loadOn(stack: Stack, path: string) {
  return { url: stack.url + path, headers: { authorization: `Bearer ${stack.key}` }, body: `{"input":${INPUT}}` };
}

function processesOf(bench: Bench, stack: Stack): Record<string, number> {
  return {
    facade: stack.processes.facade,
    core: stack.processes.core,
    postgres: stack.processes.postgres,
    load: bench.load.pid,
  };
}
