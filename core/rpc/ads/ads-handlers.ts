/** Serves core as the control plane of Envoys, for holders of the edges' key: delta xDS, load reports, access logs. */

import type { Metadata } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import type { EdgeKeys } from '@slipway/kit/host/edge-keys';
import type { Service } from '@slipway/kit/lifecycle/service';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { AccessLogServiceServer } from '@slipway/proto/gen/envoy/service/accesslog/v3/als';
import type { AggregatedDiscoveryServiceServer } from '@slipway/proto/gen/envoy/service/discovery/v3/discovery';
import type { LoadReportingServiceServer } from '@slipway/proto/gen/envoy/service/load_stats/v3/lrs';
import type { BackendDirectory } from '../../edge/backend-directory.ts';
import type { DemandWriter } from '../../edge/demand-writer.ts';
import type { RequestMeter } from '../../edge/request-meter.ts';
import { hasEdgeKey } from '../machines/edge-key.ts';
import { AccessLogStream } from './access-log-stream.ts';
import { AdsStream } from './ads-stream.ts';
import { LoadStream } from './load-stream.ts';

interface ControlPlaneParts {
  directory: BackendDirectory;
  demands: DemandWriter;
  requests: RequestMeter;
  /** None: no edge is served. */
  edgeKeys: EdgeKeys;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/**
 * The handlers, and a service whose stop ends all streams. Stop it before the server, which otherwise waits for them.
 */
interface ControlPlane {
  discovery: AggregatedDiscoveryServiceServer;
  loadReports: LoadReportingServiceServer;
  accessLogs: AccessLogServiceServer;
  service: Service;
  /** Number of updates that Envoys rejected since the start, by type of resource. */
  readonly refusals: ReadonlyMap<string, number>;
}

class OpenStreams extends BaseService {
  readonly name = 'xDS streams';
  readonly #streams = new Set<{ close(): void }>();

  protected override onStart(): void {}

  protected override onStop(): void {
    for (const stream of this.#streams) stream.close();
  }

  add(open: (onEnd: () => void) => { close(): void }): void {
    const stream = open(() => this.#streams.delete(stream));
    this.#streams.add(stream);
    if (this.ending.aborted) stream.close();
  }
}

/** Returns the handlers of the services. */
export function createControlPlane({
  directory,
  demands,
  requests,
  edgeKeys,
  clock,
  random,
  logger,
}: ControlPlaneParts): ControlPlane {
  const open = new OpenStreams();
  const refusals = new Map<string, number>();
  const onRefused = (typeUrl: string): void => {
    refusals.set(typeUrl, (refusals.get(typeUrl) ?? 0) + 1);
  };
  return {
    service: open,
    refusals,
    discovery: {
      deltaAggregatedResources: (call) => {
        if (admit(call, edgeKeys))
          open.add((onEnd) => new AdsStream(call, { directory, edgeKey: edgeKeys[0]!, logger, onRefused }, onEnd));
      },
    },
    loadReports: {
      streamLoadStats: (call) => {
        if (admit(call, edgeKeys))
          open.add((onEnd) => new LoadStream(call, { directory, demands, streamId: random.uuid() }, onEnd));
      },
    },
    accessLogs: {
      streamAccessLogs: (call, answer) => {
        if (admit(call, edgeKeys))
          open.add((onEnd) => new AccessLogStream(call, { directory, requests, clock }, () => answer(null, {}), onEnd));
      },
    },
  };
}

/** A stream from an Envoy. */
interface EnvoyCall {
  metadata: Metadata;
  on(event: 'error', listener: () => void): unknown;
  emit(event: 'error', error: Error): boolean;
}

function admit(call: EnvoyCall, edgeKeys: EdgeKeys): boolean {
  if (hasEdgeKey(call.metadata, edgeKeys)) return true;
  const details =
    edgeKeys.length === 0
      ? 'This core serves no edge: it has no SLIPWAY_EDGE_KEY.'
      : 'The edge has another SLIPWAY_EDGE_KEY than core.';
  call.on('error', () => undefined);
  call.emit('error', Object.assign(new Error(details), { code: status.UNAUTHENTICATED, details }));
  return false;
}
