/** Reads problems from core, with the page that has details of each. */
import type { ListProblemsResponse, Problem as ProblemMessage } from '@slipway/proto/gen/slipway/v1/problem_service';
import type { CoreClient } from '../../core-client/core-client.ts';
import type { CallOptions } from '../../core-client/service-calls.ts';
import { addAccountNames } from '../account-names.ts';
import type { Problem, ProblemsView } from '../views.ts';

/** Reads the worst problems of all endpoints, or of one, as their account sees them. */
export async function readProblems(core: CoreClient, endpointId: string, options: CallOptions): Promise<ProblemsView> {
  return problemsView(await listProblems(core, endpointId, options), undefined);
}

/**
 * Reads the worst problems for the operator, with the owner of each. `names`: names of accounts; those that are missing
 * are looked up and added.
 */
export async function readProblemsOfAll(
  core: CoreClient,
  endpointId: string,
  names: Map<string, string>,
  options: CallOptions & { apiKey: string; repeatable: boolean },
): Promise<ProblemsView> {
  const found = await listProblems(core, endpointId, options);
  await addAccountNames(
    core,
    names,
    found.problems.map(({ accountId }) => accountId),
    options,
  );
  return problemsView(found, names);
}

async function listProblems(core: CoreClient, endpointId: string, options: CallOptions): Promise<ListProblemsResponse> {
  return core.problems.call((client) => client.listProblems, { limit: 0, endpointId }, options);
}

/** Converts problems. `names`: names of accounts, for the operator. */
function problemsView(
  { problems, total }: ListProblemsResponse,
  names: ReadonlyMap<string, string> | undefined,
): ProblemsView {
  return { problems: problems.map((problem) => problemView(problem, names)), problemCount: total };
}

function problemView(problem: ProblemMessage, names: ReadonlyMap<string, string> | undefined): Problem {
  const { kind, broken, name, accountId, text } = problem;
  const whose = names && accountId !== '' ? ` (account ${names.get(accountId) ?? accountId})` : '';
  const path = pathOf(problem, names !== undefined);
  return { kind, level: broken ? 'bad' : 'warn', name: `${name}${whose}`, path, text };
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
