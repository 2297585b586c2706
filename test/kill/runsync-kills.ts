/**
 * Kills of a process at a step of a short /runsync. The handler kills, so that the step is met: what was answered
 * stays, under its id, with that outcome.
 */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { Child } from '../helpers/child.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import type { Processes } from '../helpers/system/processes.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

/** Clients that submit one job after the other. */
const LANES = 4;

/** When the handler kills: as it begins, or `ms` after it has returned. */
export interface Step {
  when: 'begin' | 'end';
  ms: number;
}

interface StoredJob {
  id: string;
  state: string;
  output: Buffer | null;
}

/**
 * Makes an endpoint. Returns what kills a process at a step of its jobs, starts it again and checks all answers.
 * Without a process the worker kills itself.
 */
export async function runsyncKills(
  slipway: Processes,
): Promise<(t: Test, child: Child<unknown> | undefined, step: Step) => Promise<void>> {
  const { folder, sql } = slipway;
  const notes = join(folder, 'kill-notes');
  const endpointId = await slipway.createEndpoint({
    command: jsHandler('killing.js'),
    fields: { workersMin: 1 },
    workersMax: 1,
    retryLimit: 10,
  });
  /** Marks of the answers, by job id. */
  const answered = new Map<string, string>();

  /** Submits a job and keeps its answer. No answer, and one with an error, promise nothing. */
  const submit = async (input: object): Promise<boolean> => {
    // Results are kept as long as the wait.
    const path = `/v2/${endpointId}/runsync?wait=300000`;
    const answer = await slipway.request('POST', path, { input: { notes, ...input } }).catch(() => undefined);
    if (answer?.status !== 200 || answer.json.status !== 'COMPLETED') return false;
    answered.set(answer.json.id, (answer.json.output as { mark: string }).mark);
    return true;
  };

  const check = async (t: Test): Promise<void> => {
    const rows = await waitFor('all jobs to end', async () => {
      const found = await sql<StoredJob[]>`
        SELECT j.id, j.state, o.output FROM job j
        LEFT JOIN job_output o ON o.endpoint_id = j.endpoint_id AND o.job_id = j.id
        WHERE j.endpoint_id = ${endpointId}`;
      return found.every(({ state }) => state === 'COMPLETED') && found;
    });
    const stored = new Map(rows.map(({ id, output }) => [id, markOf(output)]));
    const lost = [...answered].filter(([id, mark]) => stored.get(id) !== mark);
    t.same(lost, [], `${answered.size} answers are stored as they were given`);
    const ran = new Set((await readFile(notes, 'utf8')).trim().split('\n'));
    const strange = [...stored].filter(([id, mark]) => !ran.has(`${id} ${mark}`));
    t.same(strange, [], 'each outcome is that of a run of its own');
  };

  return async (t, child, step) => {
    await waitFor('a first answer', () => submit({}));
    let isOver = false;
    const lanes = Array.from({ length: LANES }, async () => {
      while (!isOver) await submit({});
    });
    const ended = child?.endedByOther();
    const struck = submit({ kill: { ...step, pid: child?.pid ?? null, once: join(folder, randomUUID()) } });
    await (ended ?? struck);
    isOver = true;
    await child?.start();
    await Promise.all([struck, ...lanes]);
    await waitFor('the next answer', () => submit({}));
    await check(t);
  };
}

function markOf(output: Buffer | null): string | undefined {
  return output ? (JSON.parse(output.toString()) as { mark: string }).mark : undefined;
}
