/** Chunks between the session and the engine: order, acknowledgements, and what waits for them. */
import { setImmediate as turn } from 'node:timers/promises';
import { ChunkInbox } from '@slipway/core/dispatch/reports/chunk-inbox';
import type { AttemptChunk } from '@slipway/core/jobs/record/attempt-report';
import t from 'tap';

const MACHINE = 'machine00001';

/** Returns an inbox whose engine accepts chunks only when the test releases it. */
function setup() {
  const given: { chunks: readonly AttemptChunk[]; end(refused: AttemptChunk[] | undefined): void }[] = [];
  const acks: string[] = [];
  const stops: string[] = [];
  let inFlight = 0;
  const inbox = new ChunkInbox({
    attempts: {
      appendChunks: (chunks) =>
        new Promise((resolve, reject) => {
          given.push({
            chunks,
            end: (refused) => (refused ? resolve(refused) : reject(new Error('the database is away'))),
          });
        }),
    },
    outbox: {
      ackChunk: ({ jobId }, _, number) => {
        acks.push(`${jobId}${number}`);
      },
      stop: ({ jobId }) => {
        stops.push(jobId);
      },
    },
    write: async (_, write) => {
      for (;;) {
        try {
          await write();
          return true;
        } catch {
          await turn();
        }
      }
    },
    count: (items) => {
      inFlight += items;
    },
  });
  const add = (...chunks: [job: string, number: number, endpoint?: string][]): void =>
    inbox.add(
      chunks.map(([jobId, number, endpointId = 'e1']) => ({
        ref: { endpointId, jobId, attempt: 1, workerId: 'w' },
        number,
        output: Buffer.from('1'),
        metrics: undefined,
      })),
      MACHINE,
    );
  const names = (chunks: readonly AttemptChunk[] | undefined): string[] =>
    (chunks ?? []).map(({ jobId, number }) => `${jobId}${number}`);
  return { inbox, given, acks, stops, add, names, inFlight: () => inFlight };
}

const key = (jobId: string, endpointId = 'e1') => ({ endpointId, jobId, attempt: 1, machineId: MACHINE });

t.test(
  'chunks that arrive during a write are stored by the next one, in order, also if the first is retried',
  async (t) => {
    const { given, acks, add, names, inFlight } = setup();
    add(['a', 1], ['b', 1], ['a', 2]);
    add(['a', 3]);
    add(['b', 2]);
    t.same(
      given.map(({ chunks }) => names(chunks)),
      [['a1', 'b1', 'a2']],
    );
    given[0]!.end(undefined);
    await turn();
    await turn();
    t.same(names(given[1]?.chunks), ['a1', 'b1', 'a2'], 'nothing overtakes what failed');
    t.same([acks, inFlight()], [[], 5]);
    given[1]!.end([]);
    await turn();
    t.same(
      [acks, names(given[2]?.chunks)],
      [
        ['a1', 'b1', 'a2'],
        ['a3', 'b2'],
      ],
    );
    given[2]!.end([]);
    await turn();
    t.same([acks.slice(3), inFlight(), given.length], [['a3', 'b2'], 0, 3]);
  },
);

t.test('endpoints do not wait for each other', async (t) => {
  const { given, add, names } = setup();
  add(['a', 1], ['z', 1, 'e2'], ['a', 2]);
  t.same(
    given.map(({ chunks }) => names(chunks)),
    [['a1', 'a2'], ['z1']],
  );
});

t.test('the end of an attempt waits for its earlier chunks', async (t) => {
  const { inbox, given, add } = setup();
  t.equal(inbox.written(key('a')), undefined, 'for nothing');
  add(['a', 1]);
  const order: string[] = [];
  const first = inbox.written(key('a'))!.then(() => order.push('end of a'));
  add(['b', 1]);
  const second = inbox.written(key('b'))!.then(() => order.push('end of b'));
  t.equal(inbox.written(key('z', 'e2')), undefined);
  given[0]!.end([]);
  await first;
  t.same(order, ['end of a'], 'what came later is not waited for');
  given[1]!.end([]);
  await second;
  t.equal(inbox.written(key('a')), undefined);
});

t.test('an attempt with a rejected chunk is stopped, and the chunk is acknowledged', async (t) => {
  const { given, acks, stops, add } = setup();
  add(['a', 1], ['b', 1]);
  given[0]!.end([given[0]!.chunks[1]!]);
  await turn();
  t.same([stops, acks], [['b'], ['a1', 'b1']]);
});

t.test('many chunks are written in parts, and malformed ones are dropped', async (t) => {
  const { given, add } = setup();
  add(...Array.from({ length: 1_200 }, (_, index): [string, number] => ['a', index]));
  for (const length of [500, 500, 199]) {
    const { chunks, end } = given.at(-1)!;
    t.equal(chunks.length, length);
    end([]);
    await turn();
  }
});
