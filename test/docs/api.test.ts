/** docs/reference/api.md against the code: states, errors, limits, retention and rates are what the tables say. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { status as Code } from '@grpc/grpc-js';
import * as policy from '@slipway/core/domain/jobs/job-policy';
import { TRANSITIONS } from '@slipway/core/domain/jobs/job-state';
import * as queue from '@slipway/core/domain/jobs/queue-limit';
import * as retention from '@slipway/core/domain/jobs/retention';
import { WEBHOOK_URL_LENGTH_MAX } from '@slipway/core/domain/jobs/webhook-url';
import { RATE_RULES } from '@slipway/facades/plugins/limits/rate-limit-rules';
import { STREAM_HOLD_MS } from '@slipway/facades/queue/query-numbers';
import * as wire from '@slipway/proto/wire/limits';
import { REASONS } from '@slipway/proto/wire/reason';
import t from 'tap';
import { numbersOf, tableOf } from './page.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/reference/api.md'), 'utf8');
const orDash = (text: string | null | undefined): string => text ?? '–';

t.test('states: every move, and no other', async (t) => {
  const moves = TRANSITIONS.filter(({ trigger }) => trigger !== 'expire').map(({ from, trigger, to }) => [
    orDash(from),
    trigger,
    orDash(to),
  ]);
  t.same(tableOf(page, 'States', 'From'), [...moves, ['any', 'expire', '–']]);
});

t.test('errors: every reason with its two codes, and no other', async (t) => {
  const reasons = Object.entries(REASONS).map(([reason, { grpc, http }]) => [reason, Code[grpc], String(http)]);
  t.same(
    tableOf(page, 'Errors', 'Reason').map((row) => row.slice(0, 3)),
    reasons,
  );
});

t.test('limits: each by the name of its constant', async (t) => {
  const constants: Record<string, unknown> = { ...wire, ...queue, STREAM_HOLD_MS, WEBHOOK_URL_LENGTH_MAX };
  const rows = tableOf(page, 'Limits', 'What');
  t.ok(rows.length > 10);
  for (const [what, value, name] of rows)
    t.ok(numbersOf(value!).includes(constants[name!] as number), `${what}: ${name} is ${String(constants[name!])}`);
});

t.test('policy: defaults and bounds', async (t) => {
  const rows = tableOf(page, 'Policy', 'Member')
    .slice(0, 2)
    .map((row) => row.slice(2, 5).flatMap(numbersOf));
  t.same(rows, [
    [policy.EXECUTION_TIMEOUT_MS_DEFAULT, policy.EXECUTION_TIMEOUT_MS_MIN, policy.EXECUTION_TIMEOUT_MS_MAX],
    [policy.TTL_MS_DEFAULT, policy.TTL_MS_MIN, policy.TTL_MS_MAX],
  ]);
});

t.test('retention', async (t) => {
  const [run, runsync] = tableOf(page, 'Retention', 'Submitted by').map((row) => numbersOf(row[1]!));
  t.equal(run![0], retention.RETENTION_MS_ASYNC);
  t.same(runsync, [retention.RETENTION_MS_SYNC_MIN, retention.RETENTION_MS_SYNC_MAX]);
});

t.test('rates: every operation', async (t) => {
  const shown = (limit: number | undefined): string => orDash(limit?.toLocaleString('en-US'));
  t.same(
    tableOf(page, 'Rate limits', 'Operation'),
    Object.entries(RATE_RULES).map(([name, { rate, concurrency }]) => [name, shown(rate), shown(concurrency)]),
  );
});
