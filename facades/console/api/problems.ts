/** Reads problems from core, with the page that has details of each. */
import type { Problem as ProblemMessage } from '@slipway/proto/gen/slipway/v1/problem_service';
import type { CoreClient } from '../../core-client/core-client.ts';
import type { CallOptions } from '../../core-client/service-calls.ts';
import type { Problem, ProblemsView } from '../views.ts';

/** Reads the worst problems of all endpoints, or of one. `operator`: adds the owner of each. */
export async function readProblems(
  core: CoreClient,
  endpointId: string,
  operator: boolean,
  options: CallOptions,
): Promise<ProblemsView> {
  const { problems, total } = await core.problems.call(
    (client) => client.listProblems,
    { limit: 0, endpointId },
    options,
  );
  return { problems: problems.map((problem) => problemView(problem, operator)), problemCount: total };
}

function problemView(problem: ProblemMessage, operator: boolean): Problem {
  const { kind, broken, name, accountId, text } = problem;
  const whose = operator && accountId !== '' ? ` (account ${accountId})` : '';
  return { kind, level: broken ? 'bad' : 'warn', name: `${name}${whose}`, path: pathOf(problem, operator), text };
}

/** Returns the path of the page with details. Empty if there is none. */
function pathOf({ about, id, jobId }: ProblemMessage, operator: boolean): string {
  switch (about) {
    // Jobs are their owner's.
    case 'ENDPOINT':
      return jobId === '' || operator ? `/endpoints/${id}` : `/endpoints/${id}/jobs/${jobId}`;
    case 'POD':
      return operator ? '/accounts' : '/pods';
    case 'MACHINE':
      return `/machines/${id}`;
    default:
      return operator ? '/accounts' : '';
  }
}
