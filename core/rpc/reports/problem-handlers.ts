/** ProblemService: decode, call the use case, encode. */

import type { Logger } from '@slipway/kit/log/logger';
import type { ProblemServiceServer } from '@slipway/proto/gen/slipway/v1/problem_service';
import type { Access } from '../../access/access.ts';
import type { Problem } from '../../domain/reports/problem.ts';
import { invalid } from '../../domain/settings/fields.ts';
import type { Problems } from '../../reports/problems.ts';
import { unary } from '../server/unary.ts';

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 100;

/** Returns the handlers of the service. */
export function problemHandlers(
  access: Access,
  problems: Pick<Problems, 'list'>,
  logger: Logger,
): ProblemServiceServer {
  return {
    listProblems: unary(logger, async ({ limit, endpointId }, apiKey) => {
      if (limit < 0 || limit > LIMIT_MAX)
        throw invalid(`limit is ${limit}, but must be from 1 to ${LIMIT_MAX}, or 0 for ${LIMIT_DEFAULT}`);
      const { accountId, caller } = await access.check(apiKey, {
        api: 'MANAGEMENT',
        ...(endpointId === '' ? {} : { endpointId }),
      });
      const only = endpointId === '' ? caller.endpointIds : [endpointId];
      const found = (await problems.list(caller.scope === 'ROOT' ? '' : accountId)).filter((problem) =>
        isWanted(problem, only),
      );
      return { problems: found.slice(0, limit || LIMIT_DEFAULT), total: found.length };
    }),
  };
}

/**
 * Returns true if a problem matches the filter. An empty filter matches all; others match problems of these endpoints
 * only.
 */
function isWanted({ about, id }: Problem, only: readonly string[]): boolean {
  return only.length === 0 || (about === 'ENDPOINT' && only.includes(id));
}
