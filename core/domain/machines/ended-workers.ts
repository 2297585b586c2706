/**
 * Groups workers that ended unexpectedly, for people: the cause that ended one worker also ends the workers that
 * replace it.
 */

/** A worker that ended. */
export interface EndedWorker {
  id: string;
  endpointId: string;
  endpointName: string;
  exitCode: number | null;
  /** Why it ended, followed by its last log lines. */
  reason: string;
  endedAt: Date;
}

/** Workers of one endpoint that ended for the same reason. Their last log lines may differ. */
export interface EndedGroup {
  count: number;
  /** The reason as a sentence. */
  sentence: string;
  /** Last log line of the latest worker; the sentence if it logged nothing. */
  lastLine: string;
  /** The latest worker of the group. */
  last: EndedWorker;
}

/** Groups workers by endpoint and reason. Groups, and the workers within a group, are sorted latest first. */
export function groupEnded(workers: readonly EndedWorker[]): EndedGroup[] {
  const groups = new Map<string, EndedGroup>();
  for (const worker of workers.toSorted((a, b) => b.endedAt.getTime() - a.endedAt.getTime())) {
    const sentence = sentenceOf(worker.reason);
    const name = JSON.stringify([worker.endpointId, worker.exitCode, sentence]);
    const group = groups.get(name);
    if (group) group.count += 1;
    else groups.set(name, { count: 1, sentence, lastLine: lastLineOf(worker.reason), last: worker });
  }
  return [...groups.values()];
}

/** Returns the agent's own words, without the log lines that it quotes. */
function sentenceOf(reason: string): string {
  return reason
    .split('\n', 1)[0]!
    .replace(/ Its last lines:\s*$/, '')
    .trim();
}

function lastLineOf(reason: string): string {
  return reason.trimEnd().split('\n').at(-1)!.trim();
}
