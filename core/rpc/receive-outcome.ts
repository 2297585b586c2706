/**
 * Receives a large outcome piece by piece. Its attempt keeps its slot until all of it has arrived. One of an attempt that is not current, or
 * not the machine's, is read to its end and forgotten.
 */
import type { ServerReadableStream } from '@grpc/grpc-js';
import type {
  AttemptOutcome as OutcomeMessage, ReportOutcomeRequest, ReportOutcomeResponse,
} from '../../proto/gen/slipway/v1/agent_service.ts';
import { OUTPUT_BYTES_MAX } from '../../proto/wire/limits.ts';
import { outcomeFromMessage } from '../dispatch/agent-messages.ts';
import type { SessionContext } from '../dispatch/session-context.ts';
import { attemptId } from '../dispatch/slot-pool.ts';
import { invalid } from '../domain/fields.ts';
import { DomainError } from '../domain/errors.ts';
import { outputTooLarge } from '../jobs/check-json.ts';
import type { AttemptOutcome } from '../jobs/job-engine.ts';

/** Bytes of outcomes that may be in memory at once; agents try again. */
const BYTES_ARRIVING_MAX = 256 * 1024 * 1024;
let bytesArriving = 0;

type IncomingStream = ServerReadableStream<ReportOutcomeRequest, ReportOutcomeResponse>;

/** Resolves after the commit. INVALID_REQUEST: the first message carries no outcome. RATE_LIMITED: too much is arriving. */
export async function receiveOutcome(call: IncomingStream, machineId: string, context: SessionContext): Promise<void> {
  const { attempts, pool, arriving, table } = context;
  const received = await receivePieces(call, machineId, context);
  if (!received) return;
  const { outcome, workerId, pieces, bytes } = received;
  try {
    if (pool.release(outcome)) table.get(machineId)?.proven(workerId);
    await attempts.recordOutcome(withOutput(outcome, pieces, bytes));
  } finally {
    bytesArriving -= bytes;
    arriving.delete(attemptId(outcome));
  }
}

function withOutput(outcome: AttemptOutcome, pieces: readonly Buffer[], bytes: number): AttemptOutcome {
  if (bytes <= OUTPUT_BYTES_MAX) return { ...outcome, output: Buffer.concat(pieces) };
  return { ...outcome, kind: 'FAILED', output: undefined, error: outputTooLarge(bytes) };
}

interface Received {
  outcome: AttemptOutcome;
  workerId: string;
  pieces: Buffer[];
  /** Size of the whole output, also of what was too much to keep. */
  bytes: number;
}

/** Undefined: nobody waits for it. */
function receivePieces(call: IncomingStream, machineId: string, { attempts, pool, arriving }: SessionContext): Promise<Received | undefined> {
  return new Promise((resolve, reject) => {
    let first: Omit<Received, 'pieces' | 'bytes'> | undefined;
    const pieces: Buffer[] = [];
    let bytes = 0;
    let isKept = true;
    // A call may be cancelled after its last piece, or after it was refused: what it holds is given back once.
    let over = false;
    const forget = (): void => {
      bytesArriving -= bytes;
      pieces.length = 0;
      if (first) arriving.delete(attemptId(first.outcome));
    };
    const fail = (error: unknown): void => {
      if (over) return;
      over = true;
      if (isKept) forget();
      call.removeAllListeners('data').removeAllListeners('end').resume();
      reject(error);
    };
    const begin = (message: OutcomeMessage | undefined): void => {
      const outcome = message && outcomeFromMessage(message, machineId);
      if (!outcome) return fail(invalid('the first message must carry outcome, with an attempt and its end'));
      first = { outcome, workerId: message.ref!.workerId };
      arriving.add(attemptId(outcome));
      if (pool.holds(outcome)) return;
      // Memory is for those only who bring what somebody waits for.
      call.pause();
      attempts.isCurrent(outcome).then((isCurrent) => {
        if (!isCurrent && !over) forget();
        isKept &&= isCurrent;
        call.resume();
      }, fail);
    };
    call.on('data', (request: ReportOutcomeRequest) => {
      if (!first) begin(request.outcome);
      if (over || !isKept) return;
      bytes += request.piece.length;
      bytesArriving += request.piece.length;
      if (bytes <= OUTPUT_BYTES_MAX) pieces.push(request.piece);
      if (bytesArriving > BYTES_ARRIVING_MAX) {
        fail(new DomainError('RATE_LIMITED', 'Too many large outcomes are arriving; try again shortly.'));
      }
    });
    call.on('cancelled', () => fail(new DomainError('UNAVAILABLE', 'The stream ended early.')));
    call.on('end', () => {
      if (!first) return fail(invalid('the first message must carry outcome'));
      if (over) return;
      over = true;
      resolve(isKept ? { ...first, pieces, bytes } : undefined);
    });
  });
}
