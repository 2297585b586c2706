import { groupEnded } from '@slipway/core/domain/machines/ended-workers';
import type { ExplainedJob } from '@slipway/core/domain/reports/explanation';
import { summarizeJob } from '@slipway/core/domain/reports/explanation';
import t from 'tap';

const ended = (id: string, reason: string, exitCode: number | null = null) => ({
  id,
  endpointId: 'e',
  endpointName: 'ocr',
  exitCode,
  reason,
  endedAt: new Date(Number(id)),
});

t.test('ended workers are grouped by how they ended, not by their last output', async (t) => {
  const killed = 'The worker was ended by SIGKILL.';
  const groups = groupEnded([
    ended('1', `${killed} Its last lines:\n{"requestId": "a", "message": "Started."}`),
    ended('3', `${killed} Its last lines:\nmore\n{"requestId": "b", "message": "Started."}\n`),
    ended('2', killed),
    ended('4', 'The worker could not be started: no such image.'),
    ended('5', 'The worker ended with exit code 3. Its last lines:\nboom', 3),
  ]);
  t.match(groups, [
    { count: 1, sentence: 'The worker ended with exit code 3.', lastLine: 'boom', last: { id: '5' } },
    {
      count: 1,
      sentence: 'The worker could not be started: no such image.',
      lastLine: 'The worker could not be started: no such image.',
    },
    { count: 3, sentence: killed, lastLine: '{"requestId": "b", "message": "Started."}', last: { id: '3' } },
  ]);
});

t.test('ended workers are described in whole sentences, with one full stop each', async (t) => {
  const job = {
    state: 'FAILED',
    retries: 2,
    error: 'The worker was ended by SIGKILL while it held the job.',
  } as ExplainedJob;
  t.equal(summarizeJob(job, ''), `It has ended: ${job.error} 2 of its attempts were lost before.`);
  t.equal(summarizeJob({ ...job, error: 'no colour', retries: 0 }, ''), 'It has ended: no colour.');
});
