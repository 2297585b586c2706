/**
 * Reads what the Python SDK writes to its output about results that it could not send. A value that has no JSON form
 * never reaches the bridge, and only the log has the exact reason
 * (docs/reference/worker-protocol.md#results-that-cannot-be-sent). A program that can write into a worker's log can
 * affect that worker's jobs only.
 */

/** A line about a result. `over`: the SDK is done with the job. */
export interface ResultLine {
  jobId: string;
  /** Why a value of the job could not be sent. `undefined` if the line gives no reason. */
  reason: string | undefined;
  over: boolean;
}

/** Beginning of every line of the SDK where RUNPOD_ENDPOINT_ID is set. */
const BEGINNING = Buffer.from('{"requestId": "');
/** Messages of the SDK have up to 4,096 characters, and JSON may escape each with six or twelve. */
const LINE_BYTES_MAX = 64 * 1024;
const LINE_FEED = 0x0a;
/**
 * Prefix for values that JSON cannot represent: `TypeError`, `RuntimeError`. It may be a progress value, after which
 * the job continues.
 */
const UNSENDABLE = 'Error while returning job result. | ';
/** Prefix for other errors after the handler has returned, for instance a text that is not UTF-8. */
const FAILED = 'Error handling job: ';
/** Written after every result, sent or not. */
const OVER = 'Finished.';
/** Prefix for a failed request: another attempt may succeed. */
const UNREACHED = 'Failed to return job results. | ';

/** Finds these lines in a worker's output, which arrives in pieces. Costs almost nothing if there are none. */
export class ResultLines {
  /** The beginning of an incomplete line. Empty if it is no such line. */
  #rest = Buffer.alloc(0);
  /** The rest of a line of another kind is skipped. */
  #skips = false;

  /** Adds output and returns the lines that it completes. */
  push(bytes: Buffer): ResultLine[] {
    const found: ResultLine[] = [];
    let at = 0;
    while (at < bytes.length) {
      const feed = bytes.indexOf(LINE_FEED, at);
      const end = feed < 0 ? bytes.length : feed;
      if (!this.#skips) this.#add(bytes.subarray(at, end));
      if (feed < 0) break;
      const line = this.#skips ? undefined : readLine(this.#rest);
      if (line) found.push(line);
      this.#rest = Buffer.alloc(0);
      this.#skips = false;
      at = feed + 1;
    }
    return found;
  }

  #add(piece: Buffer): void {
    const line = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    const compared = Math.min(line.length, BEGINNING.length);
    this.#skips = line.length > LINE_BYTES_MAX || BEGINNING.compare(line, 0, compared, 0, compared) !== 0;
    // A copy, so that a few bytes do not keep the whole received buffer in memory.
    this.#rest = this.#skips ? Buffer.alloc(0) : Buffer.from(line);
  }
}

function readLine(line: Buffer): ResultLine | undefined {
  if (line.length <= BEGINNING.length) return undefined;
  let parsed: { requestId?: unknown; message?: unknown };
  try {
    parsed = JSON.parse(line.toString()) as typeof parsed;
  } catch {
    return undefined;
  }
  const { requestId: jobId, message } = parsed;
  if (typeof jobId !== 'string' || typeof message !== 'string') return undefined;
  if (message.startsWith(UNSENDABLE)) return { jobId, reason: message.slice(UNSENDABLE.length), over: false };
  if (message.startsWith(FAILED)) return { jobId, reason: message.slice(FAILED.length), over: true };
  if (message.startsWith(UNREACHED)) return { jobId, reason: '', over: false };
  return message === OVER ? { jobId, reason: undefined, over: true } : undefined;
}
