/**
 * Rows of docs/reference/limits.md. `{NAME}` stands for the constant, table member or setting of that name in one of
 * the row's files.
 */
import type { Limit } from './limit-row.ts';
import { row, WIRE } from './limit-row.ts';
import { LIMITS_OF_PARTS } from './limits-of-parts.ts';

/** By subject. */
export const LIMITS: Readonly<Record<string, readonly Limit[]>> = {
  Jobs: [
    row('payload of /run, /runsync', '{RUN_PAYLOAD_BYTES_MAX}, {RUNSYNC_PAYLOAD_BYTES_MAX}', WIRE),
    row('output; streamed chunk (larger ones are split)', '{OUTPUT_BYTES_MAX}; {CHUNK_BYTES_MAX}', WIRE),
    row('nesting of an input', '{INPUT_DEPTH_MAX}', WIRE),
    row('Idempotency-Key', '{IDEMPOTENCY_KEY_LENGTH_MAX} characters', WIRE),
    row('`wait` of /runsync', '{WAIT_MS_MIN} – {WAIT_MS_MAX}, default {WAIT_MS_DEFAULT}', WIRE),
    row('`webhook`, `policy`, `s3Config` of a submission', '{SETTING_BYTES_MAX} each', 'facades/queue/submission.ts'),
    row(
      'metadata of a job',
      '{METADATA_MAX} pairs; keys of {METADATA_KEY_LENGTH_MAX} characters, values of {METADATA_VALUE_LENGTH_MAX}',
      'core/domain/jobs/job-metadata.ts',
    ),
    row(
      'jobs that a page of a search by metadata reads',
      '{EXAMINED_MAX}; counts of states stop at {COUNTED_MAX}',
      'core/store/reports/job-search-store.ts',
    ),
    row(
      'executionTimeout',
      '{EXECUTION_TIMEOUT_MS_MIN} – {EXECUTION_TIMEOUT_MS_MAX}, default {EXECUTION_TIMEOUT_MS_DEFAULT}',
      'core/domain/jobs/job-policy.ts',
    ),
    row('ttl', '{TTL_MS_MIN} – {TTL_MS_MAX}, default {TTL_MS_DEFAULT}', 'core/domain/jobs/job-policy.ts'),
    row(
      'retention of a final job',
      '/run {RETENTION_MS_ASYNC}; /runsync its `wait`, {RETENTION_MS_SYNC_MIN} – {RETENTION_MS_SYNC_MAX}',
      'core/domain/jobs/retention.ts',
    ),
    row(
      'queue of an endpoint, then 429',
      'the larger of {QUEUE_LENGTH_FREE} and {QUEUE_LENGTH_PER_WORKER} × workersMax',
      'core/domain/jobs/queue-limit.ts',
    ),
    row(
      'webhook call',
      '{TRIES_MAX} tries, {PAUSE_MS} apart, {TRY_MS_MAX} each',
      'core/singleton-tasks/webhook-deliverer.ts',
      'core/singleton-tasks/webhook-caller.ts',
    ),
    row("redrives of a job's webhook", '{REDRIVES_MAX}', 'core/jobs/change/redrive-webhook.ts'),
    row(
      'jobs that one call cancels or retries',
      '{CHANGED_MAX}, {BATCH_ITEMS_MAX} a statement; {CALLS_MAX} calls at a time in core',
      'core/jobs/change/change-jobs.ts',
      'core/rpc/jobs/many-jobs.ts',
    ),
    row(
      'failed jobs that groups of errors read',
      'the newest {JOBS_MAX}, {ERROR_BYTES_MAX} of their errors, {SLICE} at a time; {GROUPS_MAX} groups',
      'core/jobs/read/job-errors.ts',
      'core/domain/jobs/error-groups.ts',
    ),
    row(
      'readers of streams in one statement',
      '{SHARED_READERS_MAX}, of {chunksMax} chunks each',
      'core/jobs/read/read-chunks.ts',
    ),
    row(
      'percentiles of waiting and run times',
      'the last {SPAN_MS_MIN} to {SPAN_MS_MAX}, in about {STEPS} steps',
      'core/domain/jobs/job-times.ts',
    ),
    row('page of a list of jobs', '{LIMIT_MAX}, default {LIMIT_DEFAULT}', 'core/jobs/read/list-jobs.ts'),
  ],
  'Files and batches': [
    row(
      'a file; a request in it',
      '{FILE_BYTES_MAX}, {FILE_REQUESTS_MAX} requests; {LINE_BYTES_MAX}',
      'core/domain/batches/file.ts',
      'core/domain/batches/batch.ts',
    ),
    row('lifetime of a file', '1 hour to 30 days, default 30 days', 'core/domain/batches/file.ts'),
    row(
      'unfinished batches: of an account; of an endpoint',
      '{ACCOUNT_BATCHES_MAX}; {ENDPOINT_BATCHES_MAX}',
      'core/domain/batches/batch.ts',
    ),
    row(
      'requests per batch of an endpoint; waiting requests per endpoint; bytes per call that adds requests',
      '{DRAFT_REQUESTS_MAX}; {ENDPOINT_REQUESTS_MAX}; {DRAFT_CALL_BYTES_MAX}',
      'core/domain/batches/batch.ts',
    ),
    row('jobs of a batch in a queue at once', '{QUEUED_MAX}', 'core/batches/advance-batch.ts'),
    row('completion window of a batch; lifetime of an ended one', '1 d; 30 d', 'core/domain/batches/batch.ts'),
    row('faults of a file that are reported', '{FAULTS_MAX}', 'core/domain/batches/batch.ts'),
  ],
  Requests: [
    row('headers, then 431', '{HTTP_HEADER_BYTES_MAX}, {HTTP_HEADERS_MAX} of them', WIRE),
    row('time in which headers arrive', '{HTTP_HEADERS_MS}', WIRE),
    row(
      'rest of a body that is read after its answer',
      '{DISCARD_BYTES_MAX}; before the connection closes for {DISCARD_MS_MAX}, {SILENCE_MS_MAX} without a byte',
      'facades/plugins/connections/lingering-close.ts',
    ),
    row('values in a body of settings (REST, GraphQL)', '{VALUES_MAX}', 'facades/plugins/bodies/json-body.ts'),
    row(
      'GraphQL document',
      '{LINES_MAX} lines, {TOKENS_MAX} tokens, {DEPTH_MAX} levels, {FIELDS_MAX} fields',
      'facades/graphql/bounds.ts',
    ),
    row(
      'GraphQL documents that read long lists',
      'over {WITHOUT_TURN_BYTES}: {AT_ONCE_MAX} at a time, {OF_ACCOUNT_MAX} of an account; the next one waits for ' +
        '{WAIT_MS_MAX} for its own account and for {WAIT_FOR_OTHERS_MS_MAX} for others; {LIST_BYTES_MAX} of a list, ' +
        '{ANSWER_BYTES_MAX} of an answer',
      'facades/graphql/large-reads.ts',
      'facades/graphql/core-calls.ts',
      'facades/graphql/answer-text.ts',
    ),
    row(
      'lists of several pages that a facade writes',
      '{AT_ONCE_MAX} at a time, {OF_ACCOUNT_MAX} of an account; others wait for {WAIT_MS_MAX}, then 429',
      'facades/rest/list-queue.ts',
    ),
    row('request bodies in memory of a facade; a quarter for one account', '{SLIPWAY_BODIES_MIB}', 'facades/config.ts'),
    row(
      'answers in memory that clients have not read; a quarter for one account',
      '{SLIPWAY_ANSWERS_MIB}; cut after {SLIPWAY_ANSWER_IDLE_MS} without progress',
      'facades/config.ts',
    ),
    row(
      'concurrent work of one account while others use the facade',
      'weight {REQUEST_WEIGHT_MAX} of {ALL_WEIGHT_MAX}, each for {PERMIT_MS} at most; after heavy requests and large ' +
        'bodies (weight {REST_WEIGHT_MIN}) it rests for {REST_SHARE} times as long, after a page of a list ' +
        '{PAGE_REST_SHARE} times, {REST_MS_MAX} at most. Large bodies come one at a time, and the next one waits ' +
        '{BODY_REST_SHARE} times as long as the work on the last, {BODY_REST_MS_MAX} at most, while another account ' +
        'has sent a request in the last {BODY_SHARED_MS}',
      'facades/plugins/limits/fair-queue.ts',
    ),
    row(
      'requests that start in one tick of a facade',
      '{OF_TICK_MAX}; others wait unread, and accounts take turns',
      'facades/plugins/limits/request-pace.ts',
    ),
    row(
      'connections of one client address at a facade',
      '{SLIPWAY_CONNECTIONS_PER_ADDRESS}; further ones are closed. Not of proxies and edges',
      'facades/config.ts',
    ),
    row(
      'rejections of one account',
      '{AT_ONCE_MAX} in {WINDOW_MS} at once; further ones {DELAY_MS} late and {PACE_MS} apart, at most {OF_ONE_MAX} ' +
        'waiting',
      'facades/plugins/limits/rejection-delay.ts',
    ),
    row(
      'requests of one address at an edge',
      '{ACCOUNTS_BEHIND_ADDRESS} times the largest rate of an account, in {REQUEST_WINDOW_SECONDS}',
      'edge/config.ts',
      WIRE,
    ),
    row('silence on a request at an edge, then 504', 'the longest wait of a facade, and twice {WAIT_GRACE_MS}', WIRE),
    row(
      'calls of the management services of an account, at each core replica',
      '{MANAGEMENT_CALLS_MAX} in {CALLS_WINDOW_MS}',
      'core/domain/accounts/call-limits.ts',
    ),
    row(
      'explanations of an account, at each core replica',
      '{EXPLANATIONS_MAX} in {CALLS_WINDOW_MS}',
      'core/domain/accounts/call-limits.ts',
    ),
    row(
      'live feeds of the console',
      '{FEEDS_MAX} of a facade, {ACCOUNT_FEEDS_MAX} of an account, {LISTENERS_MAX} tabs; read every ' +
        '{PACE_MS}, or {PACE_READS} times as long as a read takes',
      'facades/console/live-feeds.ts',
    ),
    row('request that is tried in the console', '{HEADERS_MAX} headers', 'facades/console/tried-requests.ts'),
  ],
  'Load balancing': [
    row('body each way', '{LB_BODY_BYTES_MAX}', WIRE),
    row("headers of a worker's answer", '{LB_ANSWER_HEADER_BYTES_MAX}, {LB_ANSWER_HEADERS_MAX} of them', WIRE),
    row(
      'wait for a worker; for its answer; silence on a WebSocket',
      '{LB_HOLD_MS_DEFAULT}; {LB_PROCESSING_MS_DEFAULT}; {LB_SOCKET_IDLE_MS_DEFAULT}',
      WIRE,
    ),
    row(
      'requests to an endpoint at a time',
      '{LB_REQUESTS_AT_ONCE}, {LB_REQUESTS_AT_ONCE_PER_WORKER} more for each worker',
      WIRE,
    ),
    row(
      "a facade's report of its requests",
      'counts for {demandValidMs}; no worker is idle for {reportsSettleMs} after a start of core',
      'proto/wire/link-timers.ts',
    ),
    row(
      'tunnels of a machine at a facade',
      '{MACHINE_TUNNELS_MAX}; {TUNNEL_STREAMS_MAX} connections each, {WINDOW_BYTES} unread of each; ' +
        '{tunnelSilenceMs} of silence end one',
      'facades/activator/tunnels.ts',
      'kit/net/tunnel.ts',
      'proto/wire/link-timers.ts',
    ),
  ],
  'Scaling and machines': [
    row('heartbeat, lease', '{HEARTBEAT_PERIOD_MS}, {LEASE_MS}', 'core/domain/machines/lease.ts'),
    row(
      'reconciles of one transaction',
      'logged after {SLOW_MS}, aborted after {TIMEOUT_MS}',
      'core/scaling/reconcile-watchdog.ts',
    ),
    row(
      'workers for which one reconcile reserves GPUs, of accounts below their share',
      '{RESERVED_MAX}',
      'core/domain/scaling/fair-share.ts',
    ),
    row('competing endpoints that a reconcile reads', '{RIVALS_MAX}', 'core/store/scaling/gpu-contention.ts'),
    row(
      'crash of a worker',
      'its machine comes after all others for {CRASHES_REMEMBERED_HOURS}; pauses up to {CRASH_PAUSE_SECONDS_MAX}',
      'core/domain/scaling/machine-crashes.ts',
      'core/domain/machines/worker.ts',
    ),
    row('a disconnected machine counts as removed', '{GONE_AFTER_MINUTES}', 'core/domain/scaling/placement.ts'),
    row('traffic of an endpoint', 'spans of {TRAFFIC_SPAN_MS}, {TRAFFIC_KEPT_HOURS}', 'core/domain/scaling/traffic.ts'),
    row(
      'log of decisions',
      '{LOGGED_MAX} of an endpoint, {LOGGED_DAYS}; samples over {SAMPLE_BYTES_MAX} are left out',
      'core/domain/scaling/scale-decision.ts',
      'core/store/scaling/scale-log-rows.ts',
    ),
    row(
      'prefetched jobs of a worker',
      'about {PREFETCH_MS} of work, {PREFETCH_MAX} jobs, {PREFETCH_BYTES_MAX} of inputs; executions of at most ' +
        '{SHORT_MS_MAX}',
      'core/domain/jobs/prefetch.ts',
    ),
    row(
      'size of a CPU worker or pod',
      '{VCPUS_MAX} processors; {SIZES_MAX} to choose from',
      'core/domain/machines/cpu-size.ts',
    ),
    row(
      'page of a machine',
      '{PODS_MAX} pods, {IMAGES_MAX} images, {ADDRESSES_MAX} addresses, {WAITING_MAX} endpoints that it rejects',
      'core/store/reports/machine-view-store.ts',
    ),
    row(
      'images of a machine',
      '{IMAGES_MAX} and {BYTES_MAX} of names that it may need',
      'core/dispatch/desired/desired-images.ts',
    ),
  ],
  ...LIMITS_OF_PARTS,
};
