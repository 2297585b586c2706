import { composeJob, composeJobs } from '@slipway/gpu-agent/bridge/job-body';
import t from 'tap';

const s3Config = {
  accessId: 'id',
  accessSecret: 'secret',
  bucketName: '',
  endpointUrl: 'https://s3.example',
  objectPath: '',
};

const text = (pieces: readonly Uint8Array[]): string => String(Buffer.concat(pieces));

t.test('the input travels byte for byte', async (t) => {
  const input = Buffer.from('{ "n": 12345678901234567890.10, "t": "\\u00e9é" }');
  t.equal(
    text(composeJob({ id: 'a-u1', input: [input.subarray(0, 9), input.subarray(9)], s3Config: undefined })),
    `{"id":"a-u1","input":${input}}`,
  );
});

t.test('an empty input is there', async (t) => {
  t.equal(text(composeJob({ id: 'a', input: [Buffer.from('{}')], s3Config: undefined })), '{"id":"a","input":{}}');
});

t.test('storage settings under their public names, without absent ones', async (t) => {
  const job = JSON.parse(text(composeJob({ id: 'a', input: [Buffer.from('1')], s3Config }))) as object;
  t.same(job, {
    id: 'a',
    input: 1,
    s3Config: { accessId: 'id', accessSecret: 'secret', endpointUrl: 'https://s3.example' },
  });
});

t.test('several', async (t) => {
  const jobs = ['a', 'b', 'c'].map((id) => ({ id, input: [Buffer.from(`{"of":"${id}"}`)], s3Config: undefined }));
  t.same(
    JSON.parse(text(composeJobs(jobs))),
    jobs.map(({ id }) => ({ id, input: { of: id } })),
  );
  t.equal(text(composeJobs(jobs.slice(0, 1))), '[{"id":"a","input":{"of":"a"}}]');
});
