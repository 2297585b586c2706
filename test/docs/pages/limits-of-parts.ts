/** Rows of docs/reference/limits.md about agents, resources and what is inside. */

import type { Limit } from './limit-row.ts';
import { row, WIRE } from './limit-row.ts';

/** By subject. */
export const LIMITS_OF_PARTS: Readonly<Record<string, readonly Limit[]>> = {
  Agents: [
    row(
      'streamed values that core has not stored',
      '{bytesMax}, {attemptBytesMax} of one attempt; {flyingMax} values on their way',
      'gpu-agent/attempts/chunk-log.ts',
    ),
    row(
      'bodies of one worker in memory, further ones are not read',
      '{WORKER_BYTES_MAX}',
      'gpu-agent/bridge/raw-body.ts',
    ),
    row(
      'workers kept from standby',
      'those of {PACED_MIN} jobs at once, of executions of at most {SHORT_MS_MAX}; {ASLEEP_MS} without a take ' +
        'end it',
      'gpu-agent/attempts/pace.ts',
    ),
    row('a model', '{FILES_MAX} files; their list {RECORD_BYTES_MAX}', 'gpu-agent/models/model-record.ts'),
    row(
      'download of a model',
      '{FILES_AT_ONCE} files at once, {TRIES_MAX} tries in a row that bring nothing; {SILENCE_MS} of silence',
      'gpu-agent/model-host.ts',
    ),
    row('copies of its models that a machine gives at once', '{COPIES_MAX}', 'gpu-agent/models/peer-server.ts'),
    row('log of a running worker', '{WORKER_LOG_BYTES_MAX}', WIRE),
    row(
      'logs of workers and pods that ended',
      '{LOGS_MAX}, {SLIPWAY_ENDED_LOGS_MIB} of a machine; for {AGE_MS_MAX}',
      'gpu-agent/launch/log-archive.ts',
      'gpu-agent/config.ts',
    ),
    row(
      'output of a container that its engine keeps on disk',
      '{LOG_BYTES_MAX}',
      'gpu-agent/executors/container/container-plan.ts',
    ),
  ],
  'Resources and reports': [
    row('size of a network volume', 'up to {max} GB; it only grows', 'core/domain/resources/volume.ts'),
    row(
      'command and env of a template or pod, env of an endpoint',
      '{PROGRAM_BYTES_MAX}',
      'core/domain/settings/fields.ts',
    ),
    row(
      'registry credentials',
      'username {USERNAME_LENGTH_MAX}, password {PASSWORD_LENGTH_MAX} characters',
      'core/domain/resources/registry-auth.ts',
    ),
    row(
      'secrets of an account',
      '{SECRETS_MAX}; value {SECRET_VALUE_BYTES_MAX}, description {SECRET_DESCRIPTION_BYTES_MAX}; ' +
        'an environment with the values in it {RESOLVED_ENV_BYTES_MAX}',
      'core/domain/resources/secret.ts',
      'core/domain/resources/secret-reference.ts',
    ),
    row(
      'public templates in a list',
      'the oldest {SHARED_MAX} and {SHARED_BYTES_MAX} of each other account',
      'core/store/resources/template-store.ts',
    ),
    row(
      'page of a list',
      '{PAGE_SIZE_MAX} entries, {PAGE_BYTES_MAX} and the last entry; what an entry has over {ENTRY_BYTES} counts ' +
        '{TEXT_WEIGHT} times',
      'core/rpc/server/paging.ts',
      'core/store/sql/page.ts',
    ),
    row(
      'pages at a time in core',
      '{PAGES_MAX}, {ACCOUNT_PAGES_MAX} of an account, {ACCOUNT_WAITING_MAX} of it wait',
      'core/rpc/server/page-budget.ts',
    ),
    row(
      'sums of usage',
      '{PIECES_MAX} pieces of spans, {USAGE_RECORDS_MAX} records, {TOP_MAX} groups beside the others; ' +
        '{OF_ACCOUNT_MAX} at once for an account',
      'core/domain/reports/usage.ts',
      'core/reports/usage-queue.ts',
    ),
    row(
      'page of the audit trail',
      'up to {PAGE_SIZE_MAX} events, default {PAGE_SIZE_DEFAULT}',
      'core/reports/list-audit-events.ts',
    ),
    row(
      'rows of rejected attempts in the audit trail',
      '{CALLER_REFUSALS_MAX} of a caller and {REFUSALS_MAX} in total in {REFUSALS_WINDOW_MS}; further ones are ' +
        'counted. Kept for {REFUSED_DAYS}',
      'core/reports/refused-attempts.ts',
      'core/store/accounts/audit-store.ts',
    ),
    row(
      'list of problems',
      '{GIVEN_UP_MAX} webhook calls of an endpoint, {PODS_MAX} pods counted; read anew after {FRESH_MS}, at ' +
        'most {FRESH_MS_MAX}',
      'core/store/reports/problem-store.ts',
      'core/reports/problems.ts',
    ),
  ],
  Inside: [
    row(
      "work on users' bytes at a time",
      '{AT_ONCE_BYTES_MAX} at once, larger ones in slices of {SLICE_MS}',
      'kit/bytes/sliced-work.ts',
    ),
    row(
      'calls of a facade that a replica does not read',
      '{OUTBOX_BYTES_MAX}, then the other replica; without one {UNSENT_BYTES_MAX} more, then 429',
      'facades/core-client/pipeline-link.ts',
      'facades/core-client/pipeline-client.ts',
    ),
    row('calls that one gRPC connection has open', '{CONNECTION_STREAMS_MAX}', 'kit/net/channel.ts'),
    row(
      'a lock that others hold; a transaction without a statement',
      '{LOCK_MS_MAX}; {SILENT_TRANSACTION_MS_MAX}',
      'core/store/sql/database.ts',
    ),
    row(
      'log of a process',
      '{OF_CAUSE_MAX} lines in {WINDOW_MS} of a sentence about one endpoint, worker or the like, ' +
        '{OF_SENTENCE_MAX} of a sentence; then a count',
      'kit/log/line-limit.ts',
    ),
    row(
      'logs of the processes of `npm start`',
      '{ROTATE_BYTES} and the previous file, of each',
      'dev/processes/process-log.ts',
    ),
    row(
      'rejections by rate limits, for explanations',
      '{REJECTIONS_PER_CALL_MAX} endpoints a second of each facade and edge; {ENTRIES_MAX} endpoints and accounts ' +
        'for {REJECTIONS_VALID_MS}, at each core replica',
      WIRE,
      'core/edge/rejection-tracker.ts',
    ),
  ],
};
