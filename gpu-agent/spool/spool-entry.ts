/** Content of the spool for an attempt, and its encoding. */

import { inField } from '@slipway/kit/net/field-pieces';
import { AttemptChunk, AttemptOutcome, SessionRequest } from '@slipway/proto/gen/slipway/v1/agent_service';

/** An outcome and the chunks that must reach core before it. */
export interface SpoolEntry {
  outcome: AttemptOutcome;
  chunks: AttemptChunk[];
}

/** Field numbers of agent_service.proto. */
const CHUNKS = 4;
const OUTCOMES = 6;
const OUTPUT = 3;
/** Outputs of at most this many bytes together are encoded in one piece. */
const SMALL_BYTES_MAX = 16 * 1024;

/**
 * Encodes an entry as a SessionRequest, in pieces: users' texts, which may have many megabytes, are separate pieces and
 * are not copied.
 */
export function entryPieces({ outcome, chunks }: SpoolEntry): Uint8Array[] {
  const outputs = [outcome.output, ...chunks.map(({ output }) => output)];
  if (outputs.reduce((sum, output) => sum + (output?.length ?? 0), 0) <= SMALL_BYTES_MAX) {
    return [SessionRequest.encode(SessionRequest.create({ chunks, outcomes: [outcome] })).finish()];
  }
  return [
    ...chunks.flatMap((chunk) =>
      withOutput(CHUNKS, AttemptChunk.encode({ ...chunk, output: Buffer.alloc(0) }).finish(), chunk.output),
    ),
    ...withOutput(OUTCOMES, AttemptOutcome.encode({ ...outcome, output: undefined }).finish(), outcome.output),
  ];
}

/** Encodes a message in this field, with the output as its own last field. Protobuf fields may be in any order. */
function withOutput(field: number, rest: Uint8Array, output: Uint8Array | undefined): Uint8Array[] {
  return inField(field, output === undefined ? [rest] : [rest, ...inField(OUTPUT, [output])]);
}
