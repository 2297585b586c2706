/** The checker of simulations: a sound history passes, and each rule finds a history that breaks it. */
import t from 'tap';
import { check } from './checker.ts';
import type { Acknowledged, Changed, Ended, HistoryEvent, Seen, Started, Streamed } from './history.ts';

const JOB = 'job';
const OUTPUT = '{"token":"aaaaaaaa"}';

const acknowledged = (more: Partial<Acknowledged> = {}): Acknowledged => ({
  ...{
    is: 'acknowledged',
    fromMs: 0,
    sends: [{ atMs: 0, overMs: 10 }],
    atMs: 10,
    job: JOB,
    endpoint: 'one',
    request: 'r',
    key: '',
  },
  ...{ ttlMs: 86_400_000, retentionMs: 60_000, webhook: false, sentTo: [] },
  ...more,
});
const seen = (atMs: number, state: Seen['state'], more: Partial<Seen> = {}): Seen => ({
  ...{ is: 'seen', fromMs: atMs - 1, atMs, job: JOB, state, attempt: state === 'IN_QUEUE' ? 0 : 1 },
  ...{ output: state === 'COMPLETED' ? OUTPUT : '', error: '' },
  ...more,
});
const started = (atMs: number, attempt = 1, token = 'aaaaaaaa'): Started => ({
  ...{ is: 'started', atMs, job: JOB, attempt, machine: `machine ${attempt}`, token, client: 'client' },
});
const ended = (atMs: number, more: Partial<Ended> = {}): Ended => ({
  ...{ is: 'ended', atMs, job: JOB, attempt: 1, token: 'aaaaaaaa', how: 'COMPLETED', chunks: 0 },
  ...more,
});
const changed = (is: Changed['is'], fromMs: number, more: Partial<Changed> = {}): Changed => ({
  ...{ is, fromMs, atMs: fromMs + 1, job: '', endpoint: 'one', done: 1 },
  ...more,
});
const streamed = (numbers: readonly number[], isLast = false): Streamed => ({
  ...{ is: 'streamed', atMs: 40, job: JOB, reader: 'reader', after: { attempt: 0, number: 0 }, isLast },
  chunks: numbers.map((number) => ({ attempt: 1, number, text: JSON.stringify({ token: 'aaaaaaaa', number }) })),
});
const calm: HistoryEvent[] = [
  { is: 'calm', atMs: 90 },
  { is: 'converged', atMs: 95 },
];
/** A job that runs and ends. */
const SOUND = [acknowledged(), seen(20, 'IN_QUEUE'), started(30), ended(50), seen(60, 'COMPLETED'), ...calm];
const failed = (more: Partial<Seen> = {}): Seen => seen(60, 'FAILED', { error: 'failed aaaaaaaa', ...more });

const forwarded = (goneForMs: number): HistoryEvent => ({
  ...{ is: 'forwarded', atMs: 80, facade: 'facade', worker: 'worker', goneForMs },
});
const snapshot = (has: string[], truth: string[]): HistoryEvent => ({
  ...{ is: 'snapshot', atMs: 95, facade: 'facade', has, truth },
});

/** Returns the rules that a history breaks. */
const broken = (...history: HistoryEvent[]): string[] => [...new Set(check(history).map(({ rule }) => rule))];

t.test('a correct history breaks no rule', async (t) => {
  t.same(broken(...SOUND), []);
  const whole = [acknowledged({ webhook: true }), started(30), streamed([1, 2], true), ended(50, { chunks: 2 })];
  const called = { is: 'called', atMs: 70, job: JOB, state: 'COMPLETED', output: OUTPUT } as const;
  t.same(broken(...whole, seen(60, 'COMPLETED'), called, ...calm), []);
  const held = { is: 'held', atMs: 92, facade: 'facade', ms: 15_000 } as const;
  t.same(broken(...SOUND, forwarded(0), forwarded(12_000), held, snapshot(['a'], ['a'])), []);
});

t.test('a job ended early is not lost', async (t) => {
  t.same(broken(acknowledged(), changed('purge', 20), seen(40, null), ...calm), [], 'a purge');
  t.same(broken(acknowledged({ ttlMs: 20 }), seen(40, null), ...calm), [], 'its ttl');
  t.same(broken(...SOUND.slice(0, 5), changed('ttl', 61, { job: JOB, done: 5 }), seen(70, null), ...calm), []);
});

t.test('a job that may run before it is stored runs twice only if it was sent to two replicas', async (t) => {
  const runs = (...sentTo: string[]): HistoryEvent[] => [
    acknowledged({ sentTo }),
    ...[started(30), started(55, 1, 'bbbbbbbb'), ended(50), ended(58, { token: 'bbbbbbbb' })],
    ...[seen(60, 'COMPLETED'), ...calm],
  ];
  t.same(broken(...runs('core one', 'core two')), []);
  t.same(broken(...runs('core one', 'core one')), ['an attempt runs once'], 'a replica knows what it has begun');
});

t.test('a purged job is made anew only by a send that had no answer before the purge', async (t) => {
  const resent = (...sends: Acknowledged['sends']): HistoryEvent[] => [
    ...[acknowledged({ key: 'k' }), changed('purge', 20), seen(30, null)],
    ...[acknowledged({ key: 'k', request: 's', sends, atMs: 50 }), seen(60, 'IN_QUEUE'), seen(70, 'CANCELLED')],
    ...calm,
  ];
  const lost = { atMs: 15, overMs: 18 };
  t.same(broken(...resent({ atMs: 40, overMs: 50 })), [], 'its client had no answer before');
  t.same(broken(...resent(lost, { atMs: 40, overMs: undefined }, { atMs: 65, overMs: 66 })), []);
  t.same(broken(...resent({ atMs: 15, overMs: undefined }, { atMs: 45, overMs: 50 })), [], 'a slow send');
  const rules = ['states follow the table', 'purge and bulk cancel leave nothing'];
  t.same(broken(...resent(lost, { atMs: 65, overMs: 66 })), rules, 'no send was in flight, and the next comes later');
});

t.test('a job made anew after its ttl may be seen from the moment at which it was sent again', async (t) => {
  const again = { key: 'k', request: 's', fromMs: 1_900, sends: [{ atMs: 1_900, overMs: 1_950 }], atMs: 1_950 };
  const history = [
    ...[acknowledged({ key: 'k', ttlMs: 100 }), seen(1_800, null), acknowledged(again)],
    ...[seen(1_950, 'IN_QUEUE', { fromMs: 1_900 }), seen(2_000, 'CANCELLED'), ...calm],
  ];
  t.same(broken(...history), []);
});

t.test(
  'a retry excuses another attempt only if it came after the one whose outcome was acknowledged began',
  async (t) => {
    const again = (retriedMs: number): HistoryEvent[] => [
      ...[acknowledged(), changed('bulk retry', retriedMs), started(30), ended(40, { how: 'FAILED' })],
      ...[{ is: 'delivered', atMs: 45, job: JOB, attempt: 1 } as const, started(50, 2, 'bbbbbbbb')],
      ...[
        ended(60, { attempt: 2, token: 'bbbbbbbb' }),
        seen(70, 'COMPLETED', { attempt: 2, output: '{"token":"bbbbbbbb"}' }),
      ],
      ...calm,
    ];
    t.same(broken(...again(46)), []);
    t.same(broken(...again(20)), ['an acknowledged outcome counts']);
  },
);

t.test('a job made anew after its ttl starts at attempt 1 again', async (t) => {
  const anew = (ttlMs: number): HistoryEvent[] => [
    ...[started(20, 2, 'bbbbbbbb'), ended(25, { attempt: 2, token: 'bbbbbbbb' })],
    { is: 'delivered', atMs: 30, job: JOB, attempt: 2 },
    acknowledged({ sends: [0, 45].map((atMs) => ({ atMs, overMs: atMs + 5 })), atMs: 65, ttlMs }),
    ...[started(50), ended(60), { is: 'delivered', atMs: 64, job: JOB, attempt: 1 } as const, seen(70, 'COMPLETED')],
    ...calm,
  ];
  t.same(broken(...anew(40)), []);
  const rules = ['no attempt after the end', 'an attempt runs once'];
  t.same(broken(...anew(86_400_000)), rules, 'of a job that is still there');
});

t.test('a stream has the pieces of one run', async (t) => {
  const page = (...tokens: string[]): Streamed => ({
    ...streamed([]),
    chunks: tokens.map((token, index) => ({
      ...{ attempt: 1, number: index + 1, text: JSON.stringify({ token, number: index + 1 }) },
    })),
  });
  const again = [acknowledged({ ttlMs: 40 }), started(30), started(45, 1, 'bbbbbbbb'), ...calm];
  const streams = 'streams are whole and in order';
  t.notOk(broken(...again, page('bbbbbbbb', 'bbbbbbbb')).includes(streams), 'of a job made anew after its ttl');
  t.ok(broken(...again, page('aaaaaaaa', 'bbbbbbbb')).includes(streams), 'of two runs');
});

const FAULTS: Readonly<Record<string, readonly HistoryEvent[]>> = {
  'an acknowledged job is not lost': [acknowledged(), seen(40, null), ...calm],
  'a job has one outcome': [...SOUND, failed({ fromMs: 69, atMs: 70 })],
  'an output is its handler’s': [acknowledged(), started(30), seen(60, 'COMPLETED', { output: '{}' }), ...calm],
  'states follow the table': [...SOUND, seen(70, 'IN_PROGRESS'), seen(80, 'COMPLETED')],
  'ttl and retention end in time': [acknowledged({ ttlMs: 100 }), seen(5_000, 'CANCELLED'), ...calm],
  'a cancelled job is over': [
    ...[acknowledged(), changed('cancel', 20, { job: JOB }), seen(40, 'IN_QUEUE'), seen(60, 'CANCELLED')],
    ...calm,
  ],
  'purge and bulk cancel leave nothing': [
    ...[acknowledged(), changed('purge', 20), seen(40, 'IN_QUEUE'), seen(60, 'CANCELLED')],
    ...calm,
  ],
  'bulk retry leaves nothing': [acknowledged(), failed(), changed('bulk retry', 70), failed({ fromMs: 80 }), ...calm],
  'a job runs at one place at a time': [
    ...[acknowledged(), started(30), started(40, 2, 'bbbbbbbb'), ended(50, { how: 'KILLED' })],
    ...[ended(55, { attempt: 2, token: 'bbbbbbbb' }), seen(60, 'CANCELLED', { attempt: 2 })],
    ...calm,
  ],
  'no attempt after the end': [...SOUND, started(70, 2, 'bbbbbbbb')],
  'an attempt runs once': [...SOUND, started(55, 1, 'bbbbbbbb')],
  'streams are whole and in order': [...SOUND, streamed([1, 3])],
  'webhooks come, and after their outcome': [acknowledged({ webhook: true }), ...SOUND.slice(1)],
  'in calm everything comes to its end': [acknowledged(), seen(20, 'IN_QUEUE'), { is: 'calm', atMs: 30 }],
  'one key is one job': [...SOUND, acknowledged({ key: 'k' }), acknowledged({ key: 'k', request: 's', job: 'other' })],
  'one request is one job': [...SOUND, acknowledged({ job: 'other' })],
  'an acknowledged outcome counts': [
    ...[acknowledged(), started(30), ended(40), { is: 'delivered', atMs: 45, job: JOB, attempt: 1 } as const],
    ...[started(50, 2, 'bbbbbbbb'), ended(60, { attempt: 2, token: 'bbbbbbbb' })],
    ...[seen(70, 'COMPLETED', { attempt: 2, output: '{"token":"bbbbbbbb"}' }), ...calm],
  ],
  'one submission is one job': [...SOUND, { ...started(55), job: 'other' }],
  'no job waits beside an idle worker': [...SOUND, { is: 'waited', atMs: 80, job: JOB, ms: 60_000 }],
  'no attempt is sent after its stop': [
    ...SOUND,
    { is: 'sent late', atMs: 70, job: JOB, attempt: 1, machine: 'machine 1' },
  ],
  'requests go to workers that are there': [...SOUND, forwarded(31_000)],
  'no request waits beside a ready worker': [...SOUND, { is: 'held', atMs: 92, facade: 'facade', ms: 21_000 }],
  'endpoint snapshots are true': [...SOUND, snapshot(['a', 'b'], ['b'])],
  'counts are true': [
    ...SOUND,
    { is: 'counted', atMs: 99, endpoint: 'one', counted: { inQueue: 1 }, truth: { inQueue: 0 } },
  ],
};

for (const [rule, history] of Object.entries(FAULTS))
  t.test(`${rule}: the checker reports a history that breaks it`, async (t) => {
    t.ok(broken(...history).includes(rule), JSON.stringify(check(history)));
  });

t.test('further faults of streams, webhooks, expiry and outcomes', async (t) => {
  const streams = 'streams are whole and in order';
  t.ok(broken(...SOUND, streamed([1, 1])).includes(streams), 'a piece twice');
  t.ok(broken(...SOUND, streamed([1, 2], true)).includes(streams), 'more than the handler streamed');
  const early = { is: 'called', atMs: 40, job: JOB, state: 'COMPLETED', output: OUTPUT } as const;
  t.ok(broken(...SOUND, early).includes('webhooks come, and after their outcome'), 'before its outcome');
  const kept = seen(70_000, 'COMPLETED');
  t.ok(broken(...SOUND, kept).includes('ttl and retention end in time'), 'kept for too long');
  const purged = [...SOUND.slice(0, 5), changed('purge', 65), seen(70, null), ...calm];
  t.ok(broken(...purged).includes('an acknowledged job is not lost'), 'a purge that takes what has ended');
  const stale = [...SOUND.slice(0, 4), seen(60, 'COMPLETED', { attempt: 2 }), ...calm];
  t.ok(broken(...stale).includes('an output is its handler’s'), 'the output of an earlier attempt');
  t.ok(broken(acknowledged(), failed({ error: 'lie' }), ...calm).includes('an output is its handler’s'), 'a lie');
  t.ok(broken(...SOUND, snapshot([], ['a'])).includes('endpoint snapshots are true'), 'a worker that is not known');
});
