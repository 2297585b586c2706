/**
 * Receives a large outcome piece by piece. Its attempt keeps its slot until all of it has arrived. If the attempt is
 * not current, or belongs to another machine, the upload is read to its end and discarded.
 */
import type { ServerReadableStream } from '@grpc/grpc-js';
import { BytePieces } from '@slipway/kit/bytes/byte-pieces';
import type { Timer } from '@slipway/kit/time/clock';
import type { ReportOutcomeRequest, ReportOutcomeResponse } from '@slipway/proto/gen/slipway/v1/agent_service';
import { OUTPUT_BYTES_MAX } from '@slipway/proto/wire/limits';
import { outcomeFromMessage } from '../../dispatch/agent-messages.ts';
import type { SessionContext } from '../../dispatch/session/session-context.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import { invalid } from '../../domain/settings/fields.ts';
import type { LiveAttempt } from '../../jobs/live-jobs.ts';
import type { AttemptOutcome } from '../../jobs/record/attempt-report.ts';
import { outputTooLarge } from '../../jobs/record/check-json.ts';
import type { OutcomeBudget } from '../server/outcome-budget.ts';

/**
 * Maximum silence of an upload, in milliseconds: a piece takes so long on the slowest link. The agent then retries.
 */
const IDLE_MS_MAX = 60_000;

type IncomingStream = ServerReadableStream<ReportOutcomeRequest, ReportOutcomeResponse>;

/** Dependencies of an upload. */
interface ReceiveContext extends Pick<SessionContext, 'attempts' | 'pool' | 'live' | 'clock'> {
  table: Pick<SessionContext['table'], 'get'>;
  budget: OutcomeBudget;
}

/**
 * Records an outcome; resolves after the commit. Throws INVALID_REQUEST if the first message carries no outcome,
 * RATE_LIMITED if too many bytes arrive (in all, or from the machine), UNAVAILABLE if the upload stalls or breaks off.
 */
export async function receiveOutcome(call: IncomingStream, machineId: string, context: ReceiveContext): Promise<void> {
  const { attempts, pool, live, table, budget } = context;
  const received = await receivePieces(call, machineId, context);
  if (!received) return;
  const { outcome, arriving, workerId, pieces, bytes, held } = received;
  try {
    if (pool.release(outcome)) table.get(machineId)?.healthy(workerId);
    await attempts.recordOutcome(withOutput(outcome, pieces, bytes));
  } finally {
    budget.release(machineId, held);
    live.arrived(arriving);
  }
}

function withOutput(outcome: AttemptOutcome, pieces: BytePieces, bytes: number): AttemptOutcome {
  if (bytes <= OUTPUT_BYTES_MAX) return { ...outcome, output: pieces.take() };
  return { ...outcome, kind: 'FAILED', output: undefined, error: outputTooLarge(bytes) };
}

interface Received {
  outcome: AttemptOutcome;
  arriving: LiveAttempt;
  workerId: string;
  pieces: BytePieces;
  /** Size of the whole output, including the part that exceeds the limit. */
  bytes: number;
  /** Bytes of it in memory. */
  held: number;
}

/** Resolves with the outcome, `undefined` if its attempt is not current. */
function receivePieces(
  call: IncomingStream,
  machineId: string,
  context: ReceiveContext,
): Promise<Received | undefined> {
  return new Promise((resolve, reject) => {
    new Upload(call, machineId, context, { resolve, reject }).start();
  });
}

interface Receipt {
  resolve(received: Received | undefined): void;
  reject(error: unknown): void;
}

/** An outcome that arrives piece by piece. */
class Upload {
  readonly #call: IncomingStream;
  readonly #machineId: string;
  readonly #context: ReceiveContext;
  readonly #receipt: Receipt;
  readonly #pieces = new BytePieces();
  #first: (Pick<Received, 'outcome' | 'arriving' | 'workerId'> & { size: number | undefined }) | undefined;
  #bytes = 0;
  #held = 0;
  #isKept = true;
  /** A call may be cancelled after its last piece, or after it was rejected: its memory is released once. */
  #isOver = false;
  #idle: Timer | undefined;

  constructor(call: IncomingStream, machineId: string, context: ReceiveContext, receipt: Receipt) {
    this.#call = call;
    this.#machineId = machineId;
    this.#context = context;
    this.#receipt = receipt;
  }

  start(): void {
    this.#restartIdleTimer();
    this.#call.on('data', (request: ReportOutcomeRequest) => {
      this.#restartIdleTimer();
      if (!this.#first) this.#begin(request);
      if (!this.#isOver && this.#isKept) this.#keep(request.piece);
    });
    this.#call.on('cancelled', () => this.#fail(new DomainError('UNAVAILABLE', 'The stream ended early.')));
    // A connection that closes cleanly between two pieces first looks like the end of the upload; the cancellation
    // follows in the same tick. Then the pieces are incomplete, and the agent, which gets no response, sends all again.
    this.#call.on('end', () => this.#context.clock.soon(() => this.#end()));
  }

  #restartIdleTimer(): void {
    this.#idle?.cancel();
    this.#idle = this.#context.clock.after(IDLE_MS_MAX, () =>
      this.#fail(new DomainError('UNAVAILABLE', `Nothing came for ${IDLE_MS_MAX / 1_000} s; send it again.`)),
    );
  }

  #begin({ outcome: message, size }: ReportOutcomeRequest): void {
    const { attempts, pool, live } = this.#context;
    const outcome = message && outcomeFromMessage(message, this.#machineId);
    if (!outcome) return this.#fail(invalid('the first message must carry outcome, with an attempt and its end'));
    this.#first = { outcome, arriving: live.arrive(outcome), workerId: message.ref!.workerId, size };
    if (pool.holds(outcome)) return;
    // Memory is only for outcomes that are awaited.
    this.#call.pause();
    attempts.isCurrent(outcome).then(
      (isCurrent) => {
        if (!isCurrent && !this.#isOver) this.#forget();
        this.#isKept &&= isCurrent;
        this.#call.resume();
      },
      (error: unknown) => this.#fail(error),
    );
  }

  #keep(piece: Buffer): void {
    this.#bytes += piece.length;
    // Bytes over the limit are only counted.
    if (this.#bytes > OUTPUT_BYTES_MAX) return this.#drop();
    if (!this.#context.budget.reserve(this.#machineId, piece.length))
      return this.#fail(new DomainError('RATE_LIMITED', 'Too many large outcomes are arriving; try again shortly.'));
    this.#held += piece.length;
    this.#pieces.add(piece);
  }

  #end(): void {
    if (this.#isOver) return;
    if (!this.#first) return this.#fail(invalid('the first message must carry outcome'));
    const fault = this.#isKept ? sizeFault(this.#bytes, this.#first.size) : undefined;
    if (fault) return this.#fail(fault);
    this.#isOver = true;
    this.#idle?.cancel();
    const { outcome, arriving, workerId } = this.#first;
    const received = { outcome, arriving, workerId, pieces: this.#pieces, bytes: this.#bytes, held: this.#held };
    this.#receipt.resolve(this.#isKept ? received : undefined);
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#idle?.cancel();
    if (this.#isKept) this.#forget();
    this.#call.removeAllListeners('data').removeAllListeners('end').resume();
    this.#receipt.reject(error);
  }

  #drop(): void {
    this.#context.budget.release(this.#machineId, this.#held);
    this.#held = 0;
    this.#pieces.clear();
  }

  #forget(): void {
    this.#drop();
    if (this.#first) this.#context.live.arrived(this.#first.arriving);
  }
}

function sizeFault(bytes: number, size: number | undefined): DomainError | undefined {
  if (size === undefined || bytes === size) return undefined;
  if (bytes > size) return invalid(`size is ${size}, but ${bytes} bytes came`);
  return new DomainError('UNAVAILABLE', `Only ${bytes} of ${size} bytes came; send it again.`);
}
