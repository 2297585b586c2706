/**
 * What the Python SDK says in its output of results that it could not send: a value that has no JSON form never reaches
 * the bridge, and its log has the exact reason (docs/reference/worker-protocol.md#results-that-cannot-be-sent). Whoever
 * may write into a worker's log speaks of that worker's jobs only.
 */

/** One of its lines. `over`: the SDK is done with the job. */
export interface ResultLine {
  jobId: string;
  /** Why a value of the job could not be sent. Undefined: it says nothing of that. */
  reason: string | undefined;
  over: boolean;
}

/** Every line of the SDK begins so, where RUNPOD_ENDPOINT_ID is set. */
const BEGINNING = Buffer.from('{"requestId": "');
/** Its messages have up to 4,096 characters, which JSON may write as six or twelve each. */
const LINE_BYTES_MAX = 64 * 1024;
const LINE_FEED = 0x0a;
/**
 * Values that JSON cannot have: `TypeError`, `RuntimeError`. A progress value may be one, after which the job goes on.
 */
const UNSENDABLE = 'Error while returning job result. | ';
/** Whatever else the SDK meets after the handler has returned, for instance a text that is no UTF-8. */
const FAILED = 'Error handling job: ';
/** After a result, sent or not. */
const OVER = 'Finished.';
/** A request that failed: another attempt may succeed. */
const UNREACHED = 'Failed to return job results. | ';

/** Finds these lines in a worker's output, in pieces as it comes. Costs next to nothing where there are none. */
export class ResultLines {
  /** The beginning of a line whose end has not come. Empty: it is no such line. */
  #rest = Buffer.alloc(0);
  /** The end of a line that is none of these is awaited. */
  #skips = false;

  /** Adds output; gives the lines that it completes. */
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
    // A copy: what came is not kept as a whole for a few bytes of it.
    this.#rest = this.#skips ? Buffer.alloc(0) : Buffer.from(line);
  }
}

function readLine(line: Buffer): ResultLine | undefined {
  if (line.length <= BEGINNING.length) return undefined;
  let said: { requestId?: unknown; message?: unknown };
  try {
    said = JSON.parse(line.toString()) as typeof said;
  } catch {
    return undefined;
  }
  const { requestId: jobId, message } = said;
  if (typeof jobId !== 'string' || typeof message !== 'string') return undefined;
  if (message.startsWith(UNSENDABLE)) return { jobId, reason: message.slice(UNSENDABLE.length), over: false };
  if (message.startsWith(FAILED)) return { jobId, reason: message.slice(FAILED.length), over: true };
  if (message.startsWith(UNREACHED)) return { jobId, reason: '', over: false };
  return message === OVER ? { jobId, reason: undefined, over: true } : undefined;
}
