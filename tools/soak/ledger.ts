/** Records the jobs that a soak's clients had accepted, and their outcomes. */

/** A job that was accepted. */
interface Accepted {
  endpointId: string;
  kind: string;
  /** Its final status, when a client has read it. */
  status: string | undefined;
}

/** A fault at most this often in the report, for each kind. */
const FAULTS_SHOWN = 5;

export class Ledger {
  readonly #jobs = new Map<string, Accepted>();
  readonly #faults = new Map<string, string[]>();
  readonly #faultCounts = new Map<string, number>();

  /** Records that a submission was answered with this id. */
  accepted(id: string, endpointId: string, kind: string): void {
    if (this.#jobs.has(id)) this.fault(kind, `job ${id} was accepted twice`);
    this.#jobs.set(id, { endpointId, kind, status: undefined });
  }

  /** Records the final status that a client read or a webhook reported. A second one must be the same. */
  ended(id: string, status: string): void {
    const job = this.#jobs.get(id);
    if (!job) return this.fault('outcome', `job ${id} ended as ${status}, but was never accepted`);
    if (job.status !== undefined && job.status !== status)
      return this.fault(job.kind, `job ${id} ended as ${job.status}, then as ${status}`);
    job.status = status;
  }

  /** Records a difference between what was promised and what came. */
  fault(kind: string, message: string): void {
    this.#faultCounts.set(kind, (this.#faultCounts.get(kind) ?? 0) + 1);
    const messages = this.#faults.get(kind) ?? [];
    if (messages.length < FAULTS_SHOWN) messages.push(message);
    this.#faults.set(kind, messages);
  }

  /** Number of faults so far. */
  get faultCount(): number {
    return [...this.#faultCounts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Number of accepted jobs. */
  get size(): number {
    return this.#jobs.size;
  }

  /** Returns the first faults of each kind, with their number. */
  faults(): string[] {
    return [...this.#faults].flatMap(([kind, messages]) =>
      messages.map((message) => `${kind} (${this.#faultCounts.get(kind)}): ${message}`),
    );
  }

  /** Returns jobs without a known end. */
  open(): string[] {
    return [...this.#jobs].filter(([, { status }]) => status === undefined).map(([id]) => id);
  }

  /** Returns how many jobs of an endpoint ended with each status. */
  counts(endpointId: string): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const job of this.#jobs.values())
      if (job.endpointId === endpointId && job.status !== undefined) counts[job.status] = (counts[job.status] ?? 0) + 1;
    return counts;
  }
}
