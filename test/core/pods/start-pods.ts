/** Core, a real agent and files that its pods write. */

import { readFileSync } from 'node:fs';
import type { Test } from 'tap';
import { podCalls } from '../../helpers/pods/pod-calls.ts';
import { scratch } from '../../helpers/scratch.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { startRealAgent } from '../../helpers/system/real-agent.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

/** Writes its pid and the files it finds with their folder, leaves a file, and runs until it is ended. */
const PROGRAM =
  'env > "$NOTES/env"; pwd >> "$NOTES/folders"; echo $(ls) >> "$NOTES/files"; touch kept; echo $$ >> "$NOTES/pids"; ' +
  'echo hello $WORD; exec sleep 1000';

export async function start(t: Test, env: Record<string, string> = {}) {
  const core = await startReplicas(t);
  const agent = await startRealAgent(t, core, env);
  await waitFor(
    'the agent to join',
    async () => (await core.sql`SELECT FROM machine WHERE session_id IS NOT NULL`).length === 1,
  );
  const notes = await scratch(t);
  const fields = { computeType: 'CPU', startCommand: ['sh', '-c', PROGRAM], env: { NOTES: notes.folder, WORD: 'one' } };
  const envOf = (): Record<string, string> =>
    Object.fromEntries(
      readFileSync(notes.path('env'), 'utf8')
        .split('\n')
        .map((line) => line.split(/=(.*)/s).slice(0, 2)),
    );
  return { core, agent, notes, fields, envOf, pods: podCalls(core.clients, core.key) };
}
