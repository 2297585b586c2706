/** Jobs that stream on a scripted agent, several at once, for as long as a test makes its changes. */
import { delay, systemClock } from '@slipway/kit/time/clock';
import type { Assignment } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Chunk, ChunkCursor } from '@slipway/proto/gen/slipway/v1/job';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import type { Test } from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import type { ScriptedAgent } from '../../helpers/grpc/scripted-agent.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';

/** Jobs that run at the same time, each on its own worker. */
const JOBS = 6;
/** Chunks of a job, and the time between two in milliseconds. */
const CHUNKS = 12;
const CHUNK_MS = 40;
const NUMBERS = Array.from({ length: CHUNKS }, (_, index) => index + 1);

/** Returns an `onAssignment` that sends the chunks of each assignment one after the other, and then ends it. */
export function sendChunks(agent: () => ScriptedAgent) {
  const send = async ({ ref }: Assignment): Promise<void> => {
    for (const number of NUMBERS) {
      await delay(systemClock, CHUNK_MS);
      agent().send({ chunks: [{ ref, number, output: Buffer.from(JSON.stringify({ number })) }] });
    }
    agent().finish(ref!);
  };
  return (assignment: Assignment): undefined => void send(assignment);
}

/** Starts the jobs. Resolves when their workers are ready. `stop` ends the jobs and checks what was streamed. */
export async function startStreams(t: Test, core: CoreReplicas) {
  const endpointId = await core.createEndpoint({ workersMin: JOBS, workersMax: JOBS });
  await core.ready(endpointId, JOBS);
  let isStopped = false;
  let ended = 0;
  const readAll = async (jobId: string): Promise<number[]> => {
    const chunks: Chunk[] = [];
    let cursor: ChunkCursor | undefined;
    for (;;) {
      const request = { endpointId, jobId, cursor, waitMs: 1_000, limit: 0 };
      const page = await call(core.clients.jobs, 'readChunks', request, core.key);
      chunks.push(...page.chunks);
      cursor = page.cursor;
      // All states from COMPLETED on are final: the wait also ends with a job that failed.
      if (page.state >= JobState.COMPLETED && !page.more) return chunks.map(({ number }) => number);
    }
  };
  const lane = async (): Promise<void> => {
    while (!isStopped) {
      const { id } = await core.submit(endpointId);
      const numbers = await readAll(id);
      if (numbers.join() !== NUMBERS.join()) t.same(numbers, NUMBERS, `the stream of ${id}`);
      const { state, retries } = await core.get(endpointId, id);
      if (state !== JobState.COMPLETED || retries !== 0) t.same({ state, retries }, {}, id);
      ended += 1;
    }
  };
  const lanes = Promise.all(Array.from({ length: JOBS }, lane));
  lanes.catch(() => undefined);
  return {
    stop: async (): Promise<void> => {
      isStopped = true;
      await lanes;
      t.ok(ended >= JOBS, `${ended} jobs streamed all of their chunks in one attempt`);
    },
  };
}
