/** CancelJobs and RetryJobs: check the key, change the next jobs that match, encode. */

import { SharedPermits } from '@slipway/kit/lifecycle/shared-permits';
import { JobState as WireState } from '@slipway/proto/gen/slipway/v1/job';
import type { CancelJobsResponse, RetryJobsRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import type { Access } from '../../access/access.ts';
import type { Actor } from '../../domain/accounts/permission.ts';
import { createdValues } from '../../domain/resources/release-values.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import type { ChangeResult } from '../../jobs/change/change-jobs.ts';
import type { JobCalls } from '../../jobs/job-engine.ts';
import type { Change } from '../../store/accounts/audit-rows.ts';
import type { WalkedJobs } from '../../store/jobs/job-walk.ts';
import type { Stores } from '../../store/storage.ts';
import { cursorOf, walkFrom } from '../server/walk-cursor.ts';
import { STATE_TO_WIRE, stateFromWire, submittedFromMessage } from './job-messages.ts';

/**
 * Most concurrent calls of a replica, shared between the accounts. Each uses one of the engine's connections while it
 * runs.
 */
const CALLS_MAX = 4;

export class ManyJobs {
  readonly #calls: JobCalls;
  readonly #access: Access;
  readonly #audit: Stores['audit'];
  readonly #permits = new SharedPermits(CALLS_MAX);

  constructor({ calls, access, audit }: { calls: JobCalls; access: Access; audit: Stores['audit'] }) {
    this.#audit = audit;
    this.#calls = calls;
    this.#access = access;
  }

  /**
   * Changes the next matching jobs. Both calls have the same response; their requests differ only in the filter by how
   * jobs ended, which a cancellation does not have. Throws RATE_LIMITED if the account has too many calls under way.
   */
  async change(move: WalkedJobs['move'], request: RetryJobsRequest, apiKey: string): Promise<CancelJobsResponse> {
    const { endpointId, limit, cursor } = request;
    const actor = await this.#access.check(apiKey, { api: 'JOBS', endpointId, write: true });
    const { accountId } = actor;
    const wanted = cursor === '' ? wantedOf(move, request) : walkFrom(cursor, endpointId, move);
    if (!this.#permits.tryAcquire(accountId)) {
      throw new DomainError(
        'RATE_LIMITED',
        'As many calls that change many jobs are under way as there may be; try again when one of them has answered.',
      );
    }
    try {
      const changed = await this.#calls.change({ ...wanted, limit });
      // A later call of a walk that changed nothing is no change.
      if (cursor === '' || changed.done > 0) await this.#audit.record(changeOf(actor, wanted, changed.done));
      return answerOf(changed);
    } finally {
      this.#permits.release(accountId);
    }
  }
}

/** Returns the entry of the audit trail: what was asked, and how many jobs the call changed. */
function changeOf({ accountId, keyId }: Actor, wanted: WalkedJobs, done: number): Change {
  const { endpointId, move, states, submitted, ended } = wanted;
  const values = createdValues({ states, submitted, ended, done }, ['states', 'submitted', 'ended', 'done']);
  const action = move === 'cancel' ? 'CancelJobs' : 'RetryJobs';
  return { accountId, keyId, action, subjectId: endpointId, fields: Object.keys(values), values };
}

function wantedOf(move: WalkedJobs['move'], request: RetryJobsRequest): WalkedJobs {
  const states = request.states.map(stateFromWire).filter((state) => state !== undefined);
  if (states.length < request.states.length)
    throw new DomainError('INVALID_REQUEST', 'states contains UNSPECIFIED; leave it out');
  const { endpointId, errorGroup, endedFrom } = request;
  const ended =
    errorGroup === '' && !endedFrom
      ? undefined
      : { fromMs: endedFrom?.getTime(), errorGroup: errorGroup === '' ? undefined : errorGroup };
  return { endpointId, move, states, submitted: submittedFromMessage(request), ended };
}

function answerOf({ done, left, next }: ChangeResult): CancelJobsResponse {
  return {
    done,
    nextCursor: cursorOf(next),
    left: [...left].map(([state, count]) => ({
      state: state === undefined ? WireState.UNSPECIFIED : STATE_TO_WIRE[state],
      count,
    })),
  };
}
