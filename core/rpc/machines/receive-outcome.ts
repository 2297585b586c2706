/**
 * Receives a large outcome piece by piece. Its attempt keeps its slot until all of it has arrived. One of an attempt
 * that is not current, or not the machine's, is read to its end and forgotten.
 */
import type { ServerReadableStream } from '@grpc/grpc-js';
import { BytePieces } from '@slipway/kit/bytes/byte-pieces';
import type { ReportOutcomeRequest, ReportOutcomeResponse } from '@slipway/proto/gen/slipway/v1/agent_service';
import { OUTPUT_BYTES_MAX } from '@slipway/proto/wire/limits';
import { outcomeFromMessage } from '../../dispatch/agent-messages.ts';
import type { SessionContext } from '../../dispatch/session/session-context.ts';
import { attemptId } from '../../dispatch/slot-pool.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import { invalid } from '../../domain/settings/fields.ts';
import type { AttemptOutcome } from '../../jobs/job-engine.ts';
import { outputTooLarge } from '../../jobs/submit/check-json.ts';
import type { OutcomeBudget } from '../server/outcome-budget.ts';

/**
 * An upload of which nothing came for this long is over, in milliseconds: a piece takes so long on the slowest link.
 * Its agent tries again.
 */
const IDLE_MS_MAX = 60_000;

type IncomingStream = ServerReadableStream<ReportOutcomeRequest, ReportOutcomeResponse>;

/** What receiving needs. */
export interface ReceiveContext extends Pick<SessionContext, 'attempts' | 'pool' | 'arriving' | 'clock'> {
  table: Pick<SessionContext['table'], 'get'>;
  room: OutcomeBudget;
}

/**
 * Resolves after the commit. INVALID_REQUEST: the first message carries no outcome. RATE_LIMITED: too much is arriving,
 * in all or of the machine. UNAVAILABLE: the upload stalled, or its agent went away.
 */
export async function receiveOutcome(call: IncomingStream, machineId: string, context: ReceiveContext): Promise<void> {
  const { attempts, pool, arriving, table, room } = context;
  const received = await receivePieces(call, machineId, context);
  if (!received) return;
  const { outcome, workerId, pieces, bytes, held } = received;
  try {
    if (pool.release(outcome)) table.get(machineId)?.healthy(workerId);
    await attempts.recordOutcome(withOutput(outcome, pieces, bytes));
  } finally {
    room.release(machineId, held);
    arriving.delete(attemptId(outcome));
  }
}

function withOutput(outcome: AttemptOutcome, pieces: BytePieces, bytes: number): AttemptOutcome {
  if (bytes <= OUTPUT_BYTES_MAX) return { ...outcome, output: pieces.take() };
  return { ...outcome, kind: 'FAILED', output: undefined, error: outputTooLarge(bytes) };
}

interface Received {
  outcome: AttemptOutcome;
  workerId: string;
  pieces: BytePieces;
  /** Size of the whole output, also of what was too much to keep. */
  bytes: number;
  /** Bytes of it in memory. */
  held: number;
}

/** Undefined: nobody waits for it. */
function receivePieces(
  call: IncomingStream,
  machineId: string,
  { attempts, pool, arriving, clock, room }: ReceiveContext,
): Promise<Received | undefined> {
  return new Promise((resolve, reject) => {
    let first: (Pick<Received, 'outcome' | 'workerId'> & { size: number | undefined }) | undefined;
    const pieces = new BytePieces();
    let bytes = 0;
    let held = 0;
    let isKept = true;
    // A call may be cancelled after its last piece, or after it was refused: what it holds is given back once.
    let over = false;
    const drop = (): void => {
      room.release(machineId, held);
      held = 0;
      pieces.clear();
    };
    const forget = (): void => {
      drop();
      if (first) arriving.delete(attemptId(first.outcome));
    };
    const fail = (error: unknown): void => {
      if (over) return;
      over = true;
      idle.cancel();
      if (isKept) forget();
      call.removeAllListeners('data').removeAllListeners('end').resume();
      reject(error);
    };
    const waitOn = () =>
      clock.after(IDLE_MS_MAX, () =>
        fail(new DomainError('UNAVAILABLE', `Nothing came for ${IDLE_MS_MAX / 1_000} s; send it again.`)),
      );
    let idle = waitOn();
    const begin = ({ outcome: message, size }: ReportOutcomeRequest): void => {
      const outcome = message && outcomeFromMessage(message, machineId);
      if (!outcome) return fail(invalid('the first message must carry outcome, with an attempt and its end'));
      first = { outcome, workerId: message.ref!.workerId, size };
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
    const keep = (piece: Buffer): void => {
      bytes += piece.length;
      // What is too large is only counted.
      if (bytes > OUTPUT_BYTES_MAX) return drop();
      if (!room.reserve(machineId, piece.length))
        return fail(new DomainError('RATE_LIMITED', 'Too many large outcomes are arriving; try again shortly.'));
      held += piece.length;
      pieces.add(piece);
    };
    call.on('data', (request: ReportOutcomeRequest) => {
      idle.cancel();
      idle = waitOn();
      if (!first) begin(request);
      if (!over && isKept) keep(request.piece);
    });
    call.on('cancelled', () => fail(new DomainError('UNAVAILABLE', 'The stream ended early.')));
    // A connection that ends in order between two pieces looks like the end of the upload at first; that it is gone is
    // told in the same turn. What came by then is a part, and its agent, which hears nothing, sends all of it again.
    call.on('end', () =>
      clock.soon(() => {
        if (over) return;
        if (!first) return fail(invalid('the first message must carry outcome'));
        const fault = isKept ? sizeFault(bytes, first.size) : undefined;
        if (fault) return fail(fault);
        over = true;
        idle.cancel();
        resolve(isKept ? { ...first, pieces, bytes, held } : undefined);
      }),
    );
  });
}

function sizeFault(bytes: number, size: number | undefined): DomainError | undefined {
  if (size === undefined || bytes === size) return undefined;
  if (bytes > size) return invalid(`size is ${size}, but ${bytes} bytes came`);
  return new DomainError('UNAVAILABLE', `Only ${bytes} of ${size} bytes came; send it again.`);
}
