/** Jobs and their webhook calls as the console's server sends them to the page. Times are milliseconds since 1970. */

/** A job in a list. */
export interface JobRow {
  id: string;
  status: string;
  /** ISO 8601. */
  submittedAt: string;
  /** Milliseconds. */
  delayTime?: number;
  executionTime?: number;
  workerId?: string;
  retries?: number;
  /** Shortened. */
  error?: string;
}

/** A page of the jobs of an endpoint. */
export interface JobsView {
  nowMs: number;
  requests: readonly JobRow[];
  total: number;
  /** There are more than `total`. */
  totalCapped: boolean;
  hasMore: boolean;
  /** Names the next page; empty: there is none. */
  nextCursor: string;
}

/** A job in the list of all endpoints. */
export interface AllJobsRow extends JobRow {
  endpointId: string;
  endpointName: string;
  metadata: Readonly<Record<string, string>>;
}

/** A page of the jobs of all endpoints. */
export interface AllJobsView {
  nowMs: number;
  jobs: readonly AllJobsRow[];
  /** Names the next page; empty: there is none. */
  nextCursor: string;
  /** Kept jobs by state, of the endpoints that are shown. Empty on further pages. */
  counts: readonly { state: string; count: number; capped: boolean }[];
}

/** Where a job is. */
export interface JobPlaceView {
  endpointId: string;
  jobId: string;
}

/** A webhook call of a job. Unknown times are 0. */
export interface WebhookView {
  id: string;
  state: string;
  tries: number;
  lastError: string;
  redrives: number;
  dueMs: number;
  endMs: number;
}
