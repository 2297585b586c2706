/** Reads logs of workers and pods from the replica that holds the machine's session, which may be another one. */
import type { Metadata } from '@grpc/grpc-js';
import type { Transport } from '@slipway/kit/net/channel';
import { callMetadata } from '@slipway/kit/net/channel';
import type { TlsSource } from '@slipway/kit/net/tls-source';
import type { Clock } from '@slipway/kit/time/clock';
import { MachineServiceClient } from '@slipway/proto/gen/slipway/v1/machine_service';
import { PodServiceClient } from '@slipway/proto/gen/slipway/v1/pod_service';
import { WORKER_LOG_BYTES_MAX } from '@slipway/proto/wire/limits';
import { fromGrpcError } from '@slipway/proto/wire/reason';
import type { LogAnswer, LogRequest, WorkerLogs } from '../../dispatch/reports/worker-logs.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import { invalid } from '../../domain/settings/fields.ts';
import type { Stores } from '../../store/storage.ts';

const TAIL_BYTES_DEFAULT = 65_536;
/** Most lines of a page. */
const LINES_MAX = 1_000;
/** Metadata key of a call that another replica forwarded. Such a call is not forwarded again. */
const FORWARDED_KEY = 'x-slipway-forwarded';
const FORWARD_MS_MAX = 15_000;

export interface LogParts {
  machines: Stores['machines'];
  logs: WorkerLogs;
  /** Transport to other replicas. */
  transport: Transport;
  /** Returns the certificates for replicas that speak TLS. */
  peerTls(): TlsSource | undefined;
  clock: Clock;
}

/** Returns the number of bytes to read. 0: the default. Throws INVALID_REQUEST if it is out of range. */
export function tailBytesOf(tailBytes: number): number {
  if (tailBytes === 0) return TAIL_BYTES_DEFAULT;
  if (tailBytes >= 1 && tailBytes <= WORKER_LOG_BYTES_MAX) return tailBytes;
  throw invalid(`tail_bytes is ${tailBytes}, but must be from 1 to ${WORKER_LOG_BYTES_MAX}`);
}

/** Returns the number of lines to read. 0: all that fit. Throws INVALID_REQUEST if it is out of range. */
export function linesOf(limit: number): number {
  if (limit === 0) return LINES_MAX;
  if (limit >= 1 && limit <= LINES_MAX) return limit;
  throw invalid(`limit is ${limit}, but must be from 1 to ${LINES_MAX}`);
}

/**
 * Reads a log. The caller must be authorized before. Another replica checks the caller's own key in the same way.
 * Throws UNAVAILABLE if no replica holds a session.
 */
export async function readLog(
  parts: LogParts,
  request: LogRequest,
  apiKey: string,
  metadata: Metadata,
): Promise<LogAnswer> {
  const { machines, logs } = parts;
  if (logs.reaches(request.machineId)) return logs.read(request);
  const address = metadata.get(FORWARDED_KEY).length > 0 ? undefined : await machines.replicaOf(request.machineId);
  if (!address)
    throw new DomainError('UNAVAILABLE', `The machine of this ${request.kind}, which keeps its log, is not connected.`);
  return forward(parts, address, request, apiKey);
}

function forward(
  { transport, peerTls, clock }: LogParts,
  address: string,
  request: LogRequest,
  apiKey: string,
): Promise<LogAnswer> {
  const { kind, id, tailBytes, job } = request;
  const metadata = callMetadata(apiKey);
  metadata.set(FORWARDED_KEY, '1');
  const options = { deadline: clock.nowMs() + FORWARD_MS_MAX };
  const client = transport.openClient<PodServiceClient | MachineServiceClient>(
    kind === 'pod' ? PodServiceClient : MachineServiceClient,
    address,
    { tls: peerTls() },
  );
  return new Promise<LogAnswer>((resolve, reject) => {
    const fail = (error: unknown): void => {
      const { reason, message } = fromGrpcError(error);
      reject(new DomainError(reason, message));
    };
    if (client instanceof PodServiceClient) {
      client.getPodLog({ id, tailBytes, place: job }, metadata, options, (error, answer) =>
        error ? fail(error) : resolve({ log: answer.log, job: answer.page }),
      );
    } else {
      client.getWorkerLog({ workerId: id, tailBytes, job }, metadata, options, (error, answer) =>
        error ? fail(error) : resolve(answer),
      );
    }
  }).finally(() => client.close());
}
