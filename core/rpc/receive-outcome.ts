/** Receives a large outcome piece by piece. Its attempt keeps its slot until all of it has arrived. */
import type { ServerReadableStream } from '@grpc/grpc-js';
import type {
  AttemptOutcome as OutcomeMessage, ReportOutcomeRequest, ReportOutcomeResponse,
} from '../../proto/gen/slipway/v1/agent_service.ts';
import { OUTPUT_BYTES_MAX } from '../../proto/wire/limits.ts';
import { outcomeFromMessage } from '../dispatch/agent-messages.ts';
import type { SessionContext } from '../dispatch/session.ts';
import { attemptId } from '../dispatch/slot-pool.ts';
import { invalid } from '../domain/endpoint.ts';
import { DomainError } from '../domain/errors.ts';
import type { AttemptOutcome } from '../jobs/job-engine.ts';

/** Bytes of outcomes that may be in memory at once; agents try again. */
const BYTES_ARRIVING_MAX = 256 * 1024 * 1024;
let bytesArriving = 0;

type IncomingStream = ServerReadableStream<ReportOutcomeRequest, ReportOutcomeResponse>;

/** Resolves after the commit. INVALID_REQUEST: the first message carries no outcome. RATE_LIMITED: too much is arriving. */
export async function receiveOutcome(call: IncomingStream, context: SessionContext): Promise<void> {
  const { attempts, pool, arriving, table } = context;
  const { message, pieces, bytes } = await receivePieces(call, arriving);
  try {
    const outcome = outcomeFromMessage(message);
    if (!outcome) throw invalid('outcome must name an attempt and its end');
    const workerId = message.ref!.workerId;
    if (pool.release(outcome)) table.all().find((session) => session.workerIds().includes(workerId))?.proven(workerId);
    await attempts.recordOutcome(withOutput(outcome, pieces, bytes));
  } finally {
    bytesArriving -= bytes;
    if (message.ref) arriving.delete(attemptId(message.ref));
  }
}

function withOutput(outcome: AttemptOutcome, pieces: readonly Buffer[], bytes: number): AttemptOutcome {
  if (bytes <= OUTPUT_BYTES_MAX) return { ...outcome, output: Buffer.concat(pieces) };
  const error = `the output has ${bytes} bytes, but may have ${OUTPUT_BYTES_MAX}; store it elsewhere and return a link`;
  return { ...outcome, kind: 'FAILED', output: undefined, error };
}

interface Received {
  message: OutcomeMessage;
  pieces: Buffer[];
  /** Size of the whole output, also of what was too much to keep. */
  bytes: number;
}

function receivePieces(call: IncomingStream, arriving: Set<string>): Promise<Received> {
  return new Promise((resolve, reject) => {
    let message: OutcomeMessage | undefined;
    const pieces: Buffer[] = [];
    let bytes = 0;
    // A call may be cancelled after its last piece, or after it was refused: what it holds is given back once.
    let over = false;
    const fail = (error: unknown): void => {
      if (over) return;
      over = true;
      bytesArriving -= bytes;
      if (message?.ref) arriving.delete(attemptId(message.ref));
      call.removeAllListeners('data').removeAllListeners('end').resume();
      reject(error);
    };
    call.on('data', (request: ReportOutcomeRequest) => {
      if (request.outcome && !message) {
        message = request.outcome;
        if (message.ref) arriving.add(attemptId(message.ref));
      }
      bytes += request.piece.length;
      bytesArriving += request.piece.length;
      if (bytes <= OUTPUT_BYTES_MAX) pieces.push(request.piece);
      if (bytesArriving > BYTES_ARRIVING_MAX) {
        fail(new DomainError('RATE_LIMITED', 'Too many large outcomes are arriving; try again shortly.'));
      }
    });
    call.on('cancelled', () => fail(new DomainError('UNAVAILABLE', 'The stream ended early.')));
    call.on('end', () => {
      if (!message) return fail(invalid('the first message must carry outcome'));
      over = true;
      resolve({ message, pieces, bytes });
    });
  });
}
