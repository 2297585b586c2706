/** Several results in one body: the bridge reads exactly what a worker writes, and rejects everything else. */

import { readResultBatch } from '@slipway/gpu-agent/bridge/result-batch';
import fc from 'fast-check';
import { ResultSender } from 'slipway-worker/result-sender';
import t from 'tap';
import { SEED } from '../../helpers/time/seeded-random.ts';

/**
 * Returns the batch that a sender writes for simultaneous results: the first two are sent alone, the others together.
 */
async function written(results: readonly { jobId: string; body: string; isStream: boolean }[]): Promise<string> {
  let text = '';
  const gate = Promise.withResolvers<void>();
  const sender = new ResultSender({
    single: () => gate.promise,
    batch: async (body) => {
      text += body;
      return true;
    },
  });
  const sent = [
    sender.send('first', '{}', false),
    sender.send('second', '{}', false),
    ...results.map((one) => sender.send(one.jobId, one.body, one.isStream)),
  ];
  gate.resolve();
  await Promise.all(sent);
  return text;
}

const result = fc.record({
  jobId: fc.stringMatching(/^[0-9a-f-]{1,40}-u1$/),
  body: fc.json().map((json) => `{"output":${json}}`),
  isStream: fc.boolean(),
});

t.test('what was written is read', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(result, { minLength: 2, maxLength: 30 }), async (results) => {
      const read = readResultBatch(Buffer.from(await written(results)));
      const same = read?.map(({ jobId, isStream, body }) => ({ jobId, body: body.toString(), isStream }));
      return (
        JSON.stringify(same) === JSON.stringify(results.map(({ jobId, body, isStream }) => ({ jobId, body, isStream })))
      );
    }),
    { seed: SEED, numRuns: 100 },
  );
});

t.test('a truncated or forged batch is refused as a whole', async (t) => {
  const whole = Buffer.from(
    'job-1 0 2\n{}\njob-2 1 13\n{"output":"é"}\n'.replace('13', String(Buffer.byteLength('{"output":"é"}'))),
  );
  t.equal(readResultBatch(whole)?.length, 2);
  t.same(readResultBatch(Buffer.alloc(0)), []);
  for (let length = 1; length < whole.length; length += 1) {
    // Cut after the first result it is whole, too.
    if (length !== 'job-1 0 2\n{}\n'.length)
      t.equal(readResultBatch(whole.subarray(0, length)), undefined, `${length} bytes`);
  }
  const lines = [
    'job 2\n{}\n',
    'job 2 2\n{}\n',
    'job 0 -2\n{}\n',
    'job 0 1\n{}\n',
    'job 0 3\n{}\n',
    ' 0 2\n{}\n',
    `${'x'.repeat(700)} 0 2\n{}\n`,
    'a b 0 2\n{}\n',
  ];
  for (const text of lines) {
    t.equal(readResultBatch(Buffer.from(text)), undefined, JSON.stringify(text.slice(0, 20)));
  }
  t.equal(readResultBatch(Buffer.from('j 0 2\n{}\n'.repeat(1_000)))?.length, 1_000);
  t.equal(readResultBatch(Buffer.from('j 0 2\n{}\n'.repeat(1_001))), undefined, 'more than there can be');
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      readResultBatch(Buffer.from(bytes));
      return true;
    }),
    { seed: SEED },
  );
});
