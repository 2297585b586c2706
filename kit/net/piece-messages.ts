/**
 * Pieces of large inputs and outcomes on their streams of their own, each encoded with one copy instead of three and
 * two buffers that it outgrows.
 */
import { makeGenericClientConstructor } from '@grpc/grpc-js';
import type { AgentServiceClient, FetchInputResponse } from '@slipway/proto/gen/slipway/v1/agent_service';
import { AgentServiceService, ReportOutcomeRequest } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { ClientConstructor } from './channel.ts';
import { inField } from './field-pieces.ts';

/** Field numbers of agent_service.proto. */
const INPUT_PIECE = 1;
const OUTCOME_PIECE = 2;
const EMPTY = Buffer.alloc(0);

/** Returns the bytes of a FetchInputResponse. */
export function encodeFetchInputResponse({ piece }: FetchInputResponse): Buffer {
  return Buffer.concat(inField(INPUT_PIECE, [piece]));
}

/** Returns the bytes of a ReportOutcomeRequest. */
export function encodeReportOutcomeRequest(request: ReportOutcomeRequest): Buffer {
  return Buffer.concat([
    ReportOutcomeRequest.encode({ ...request, piece: EMPTY }).finish(),
    ...inField(OUTCOME_PIECE, [request.piece]),
  ]);
}

/** AgentService whose pieces are encoded so. */
export const PieceAgentService = {
  ...AgentServiceService,
  fetchInput: { ...AgentServiceService.fetchInput, responseSerialize: encodeFetchInputResponse },
  reportOutcome: { ...AgentServiceService.reportOutcome, requestSerialize: encodeReportOutcomeRequest },
} as const;

type Client = ClientConstructor<AgentServiceClient>;

/** Its client. */
export const PieceAgentServiceClient = makeGenericClientConstructor(
  PieceAgentService,
  'slipway.v1.AgentService',
) as unknown as Client;
