/** Workers that ended without being told to, for people: grouped, because what ended them ends their followers too. */

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

/** Those of one endpoint with the same exit code and the same last line. */
export interface EndedGroup {
  count: number;
  /** The last line of the reason. */
  lastLine: string;
  /** The latest of them. */
  last: EndedWorker;
}

/** Groups workers, the latest first within each list and in the answer. */
export function groupEnded(workers: readonly EndedWorker[]): EndedGroup[] {
  const groups = new Map<string, EndedGroup>();
  for (const worker of workers.toSorted((a, b) => b.endedAt.getTime() - a.endedAt.getTime())) {
    const lastLine = lastLineOf(worker.reason);
    const name = JSON.stringify([worker.endpointId, worker.exitCode, lastLine]);
    const group = groups.get(name);
    if (group) group.count += 1;
    else groups.set(name, { count: 1, lastLine, last: worker });
  }
  return [...groups.values()];
}

function lastLineOf(reason: string): string {
  return reason.trimEnd().split('\n').at(-1)!.trim();
}
