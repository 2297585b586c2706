/** Workers that ended unexpectedly, for people: grouped, because what ended them ends their followers too. */

/** One that ended. */
export interface EndedWorker {
  id: string;
  endpointId: string;
  endpointName: string;
  exitCode: number | null;
  /** How it ended, then the last lines it wrote. */
  reason: string;
  endedAt: Date;
}

/** Those of one endpoint that ended in the same way. What each wrote last may differ. */
export interface EndedGroup {
  count: number;
  /** How they ended, in a sentence. */
  sentence: string;
  /** The last line that the latest wrote; the sentence, if it wrote none. */
  lastLine: string;
  /** The latest of them. */
  last: EndedWorker;
}

/** Groups workers, the latest first within each list and in the answer. */
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

/** What the agent said itself, without the lines that it quotes. */
function sentenceOf(reason: string): string {
  return reason
    .split('\n', 1)[0]!
    .replace(/ Its last lines:\s*$/, '')
    .trim();
}

function lastLineOf(reason: string): string {
  return reason.trimEnd().split('\n').at(-1)!.trim();
}
