/** Bugs that are planted to prove that the simulation finds them. */
import type { PlantedBug } from './planted-bug.ts';
import { bug } from './planted-bug.ts';
import { PLANTED_IN_EARLY_RUNS } from './planted-early-runs.ts';

/** All planted bugs. The given number of seeds, with 60 clients each, must find each. */
export const PLANTED: readonly PlantedBug[] = [
  ...PLANTED_IN_EARLY_RUNS,
  bug(
    'attempt fence dropped',
    3,
    'core/store/jobs/outcome-store.ts',
    'AND j.id = g.id AND j.attempt = g.attempt',
    'AND j.id = g.id',
  ),
  bug(
    'outcome of another machine accepted',
    0,
    'core/store/jobs/outcome-store.ts',
    'AND j.machine_id = g.machine_id\n          AND ${isRunning',
    'AND ${isRunning',
  ),
  bug(
    'request ids ignored',
    3,
    'core/jobs/submit/prepare-job.ts',
    "submission.requestId === '' ? orderedUuid(options) : submission.requestId",
    'orderedUuid(options)',
  ),
  bug(
    'outcome acknowledged before its commit',
    10,
    'core/dispatch/session/session-inbox.ts',
    'else write().then(over, failed);',
    'else { over(); void write().catch(() => undefined); }',
  ),
  bug(
    'submission acknowledged before its commit',
    3,
    'core/jobs/submit/submit-batch.ts',
    'stored = await outage.persist(() => this.#insert(placed, claimId));',
    `const early = this.#insert(placed, claimId).catch(() => new Map());
      stored = await Promise.race([early, Promise.resolve(new Map(placed.map(({ job }) => [nameOf(job), {
        job: { id: job.id, endpointId: job.endpointId, state: 'IN_QUEUE', attempt: 0, retries: 0,
        submittedAtMs: 0, delayMs: 0, executionMs: 0 }, position: 0,
        claimId: null }])))]);`,
  ),
  // A replica that forgets the id of its own claim only loses 4 s, until the audit of attempts finds the job. Here it
  // takes the claim of another replica for its own.
  bug(
    'claim id ignored',
    10,
    'core/jobs/submit/submit-batch.ts',
    'if (found?.claimId === claimId && found.job.workerId === slot.workerId)',
    "if (found?.job.state === 'IN_PROGRESS')",
  ),
  bug(
    'lease shorter than its agent believes',
    3,
    'core/store/machines/machine-store.ts',
    'UPDATE machine m SET lease_expires_at = clock_timestamp() + ${LEASE_MS}::int',
    'UPDATE machine m SET lease_expires_at = clock_timestamp() + ${LEASE_MS / 10}::int',
  ),
  bug(
    'dead lease extended',
    0,
    'gpu-agent/session/lease.ts',
    'this.#heldFromMs = undefined;\n    this.#onExpired();',
    'this.#heldFromMs = undefined;',
  ),
  bug(
    'claim sent after its stop',
    0,
    'core/dispatch/session/session.ts',
    'if (workerId === undefined) this.#workers?.fenceClaims(key.endpointId);',
    '',
  ),
  bug(
    'prefetch not returned',
    5,
    'gpu-agent/attempts/attempt-watch.ts',
    'if (waitedMs > AHEAD_WAIT_MS_MAX)',
    'if (waitedMs > Infinity)',
  ),
  // Core remembers what it has sent, in place of what the facade says that it has.
  {
    name: 'stale endpoint snapshot',
    seeds: 3,
    patches: [
      {
        file: 'core/rpc/machines/backend-stream.ts',
        find: 'reportedVersion: version, has: version });',
        put: 'reportedVersion: version });',
      },
      {
        file: 'core/rpc/machines/backend-stream.ts',
        find: 'if (!current || version === current.version) return;',
        put: 'if (!current || watched.has === current.version) return;',
      },
    ],
  },
  bug(
    'ended worker kept in an endpoint snapshot',
    10,
    'facades/activator/endpoint-workers.ts',
    'if (listed.has(worker.id)) continue;',
    'continue;',
  ),
  bug(
    'counters updated twice',
    3,
    'core/store/jobs/endpoint-counters.ts',
    'queued = t.queued + excluded.queued,',
    'queued = t.queued + excluded.queued + greatest(excluded.queued, 0),',
  ),
  bug(
    'lost notification without a poll',
    3,
    'core/singleton-tasks/queue-watcher.ts',
    'const watched = cursors.watched();',
    'const watched: string[] = []; void cursors;',
  ),
  bug(
    'queues not checked for 20 times a late answer',
    10,
    'core/singleton-tasks/queue-watcher.ts',
    'Math.min(PAUSE_MS_MAX, Math.min(tookMs, this.#tookMs) * REST_FACTOR)',
    'tookMs * REST_FACTOR',
  ),
  bug(
    'ttl off by five seconds',
    10,
    'core/store/jobs/rows.ts',
    "j.expires_at + interval '0' > now()",
    "j.expires_at + interval '5 s' > now()",
  ),
  bug(
    'reaper deletes jobs with a minute to live',
    3,
    'core/store/jobs/deletion-store.ts',
    'AND expires_at >= ${instant(this.#hot, afterUs)}\n      ORDER',
    "OR expires_at <= now() + interval '1 min' ORDER",
  ),
  // A cursor that skips is harmless alone: the walk repeats its rounds until one changes nothing.
  {
    name: 'bulk retry skips jobs in its only round',
    seeds: 3,
    patches: [
      {
        file: 'core/store/jobs/job-walk.ts',
        find: '{ ...walk.left, low: last.position + 1 }',
        put: '{ ...walk.left, low: last.position + 40 }',
      },
      {
        file: 'core/store/jobs/job-walk.ts',
        find: 'const isOver = !hasMoved || walk.ended?.errorGroup !== undefined;',
        put: 'const isOver = true;',
      },
    ],
  },
  bug(
    'outputs of a batch mixed up',
    3,
    'core/store/jobs/outcome-store.ts',
    'substring(${output.blob}::bytea FROM g.output_start FOR g.output_length) AS output',
    'substring(${output.blob}::bytea FROM 1 FOR g.output_length) AS output',
  ),
  bug(
    'webhook of a dead replica forgotten',
    10,
    'core/singleton-tasks/webhook-deliverer.ts',
    'const HOLD_MS = TRY_MS_MAX + 10_000;',
    'const HOLD_MS = 86_400_000;',
  ),
  bug(
    'purge takes running jobs',
    3,
    'core/store/jobs/deletion-store.ts',
    "AND low_priority = ${lowPriority} AND state = 'IN_QUEUE'",
    'AND low_priority = ${lowPriority}',
  ),
  // A hello that ends nothing only costs 4 s: the audit finds attempts that no session holds. Here the audit does not
  // look twice, and returns jobs that were just claimed.
  bug('audit looks once', 5, 'core/dispatch/attempt-audit.ts', 'if (!isSuspect(attempt)) continue;', ''),
  bug(
    'idempotency keys not locked',
    3,
    'core/store/jobs/submission-store.ts',
    "await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`${job.endpointId} ${keyHash.toString('hex')}`}, 0))`;",
    '',
  ),
  bug(
    'pieces of ended attempts stored',
    5,
    'core/store/jobs/chunk-store.ts',
    `AND j.machine_id = g.machine_id
          AND \${isRunning(this.#hot)} AND \${isLive(this.#hot)}
        FOR SHARE OF j
      )
      INSERT INTO job_chunk`,
    `FOR SHARE OF j
      )
      INSERT INTO job_chunk`,
  ),
  {
    name: 'hello of a connection that its agent has left',
    seeds: 5,
    slow: true,
    patches: [
      {
        file: 'core/dispatch/session/session.ts',
        find: 'if (this.hasEnded) return leaveMachine(this, this.#context);',
        put: '',
      },
      {
        file: 'core/dispatch/session/enter-machine.ts',
        find: 'const ageMsMin = tookMs < WELCOME_MS_MIN ? -Infinity : tookMs;',
        put: 'const ageMsMin = tookMs < Infinity ? -Infinity : 0;',
      },
    ],
  },
  {
    name: 'recorded outcomes of a worker still count',
    seeds: 3,
    patches: [
      { file: 'core/dispatch/worker-slots.ts', find: 'UNRECORDED_MAX = 300;', put: 'UNRECORDED_MAX = 0;' },
      {
        file: 'core/dispatch/slot-pool.ts',
        find: 'worker.unrecorded += change;',
        put: 'worker.unrecorded += Math.max(change, 0);',
      },
    ],
  },
];
