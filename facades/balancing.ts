/** Builds the parts that serve load-balancing endpoints and pods: routing, endpoint sets, tunnels and proxies. */
import type { Logger } from '@slipway/kit/log/logger';
import type { Tracing } from '@slipway/kit/observe/tracing';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { EdgeServiceClient } from '@slipway/proto/gen/slipway/v1/edge_service';
import { CoreError } from '@slipway/proto/wire/reason';
import { Activator } from './activator/activator.ts';
import { HostKeys } from './activator/host-keys.ts';
import { LbError } from './activator/lb-error.ts';
import type { LbRouting } from './activator/lb-routing.ts';
import type { WaitBounds } from './activator/load-balancer.ts';
import { LoadBalancer, WAIT_BOUNDS } from './activator/load-balancer.ts';
import type { PodProxyOptions } from './activator/pod-proxy.ts';
import { PodProxy } from './activator/pod-proxy.ts';
import type { LbParts } from './activator/routes.ts';
import { TrustedPeers } from './activator/trusted-peers.ts';
import { Tunnels } from './activator/tunnels.ts';
import type { FacadeConfig } from './config.ts';
import type { CoreClient } from './core-client/core-client.ts';
import { EndpointSetLink } from './core-client/endpoint-set-link.ts';
import type { ReplicaParts } from './core-client/replica-parts.ts';
import { RequestReporter } from './core-client/request-reporter.ts';
import type { WorkerRelay } from './openai/worker-relay.ts';
import type { GateParts } from './plugins/authenticate.ts';
import { Preflights } from './plugins/cors.ts';
import type { KeyWatch } from './plugins/limits/key-watch.ts';

/** Dependencies of the parts. */
interface BalancingParts {
  core: CoreClient;
  replicas: ReplicaParts;
  gate: GateParts;
  keys: KeyWatch;
  routing: LbRouting;
  /** `undefined` if nothing is traced. */
  tracing: Tracing | undefined;
  /** Bounds of the queues. Default: as documented. */
  waits: WaitBounds | undefined;
  /** Interval at which core is asked whether a tunnel may stay open, in milliseconds. Default: as documented. */
  tunnelAuthorizeMs: number | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** The built parts that the routes need, and the services among them. */
export interface Balancing extends Omit<LbParts, 'readFirst'> {
  link: EndpointSetLink;
  requests: RequestReporter;
  loadBalancer: LoadBalancer;
}

/** Builds the parts; nothing runs before they are started. */
export function buildBalancing(config: FacadeConfig, parts: BalancingParts): Balancing {
  const { core, replicas, gate, keys, routing, tracing, tunnelAuthorizeMs, clock, random, logger } = parts;
  const limits = {
    holdMs: config.lbHoldMs,
    processingMs: config.lbProcessingMs,
    socketIdleMs: config.lbSocketIdleMs,
    waits: parts.waits ?? WAIT_BOUNDS,
  };
  const edges = core.callsOf(EdgeServiceClient);
  const authorize = async (apiKey: string): Promise<string> =>
    (await edges.call((client) => client.admitTunnel, {}, { apiKey, repeatable: true })).machineId;
  const locate: PodProxyOptions['locate'] = (request, apiKey) =>
    edges.call((client) => client.locatePod, request, { apiKey, repeatable: true });
  const [edgeKey = ''] = config.edgeKeys;
  const requests = new RequestReporter({ ...replicas, edgeKey, logger });
  const link = new EndpointSetLink({ ...replicas, edgeKey, logger });
  const tunnels = new Tunnels({ authorize, authorizeMs: tunnelAuthorizeMs, clock, logger });
  const loadBalancer = new LoadBalancer({ link, waits: limits.waits, clock, logger });
  return {
    link,
    requests,
    tunnels,
    loadBalancer,
    activator: new Activator({ loadBalancer, tunnels, keys, limits, onRequest: requests.add.bind(requests), clock }),
    pods: new PodProxy({ locate, tunnels, rateLimit: gate.rateLimit, keys, limits, clock }),
    preflights: new Preflights(),
    hostKeys: new HostKeys(config.edgeKeys, clock, random),
    peers: new TrustedPeers(config.edgeKeys, config.trustedProxies),
    gate,
    routing,
    tracing,
    logger,
  };
}

/** Returns the way by which another surface, which has read a request, passes it on to a worker. */
export function workerRelay({ activator, peers }: Pick<Balancing, 'activator' | 'peers'>): WorkerRelay {
  return async ({ request, reply, endpointId, path, accountId, question }) => {
    peers.clean(request);
    const target = { endpointId, path, prefix: '', queryKey: undefined, isShared: false };
    try {
      await activator.serve(request, reply, target, { apiKey: question.apiKey, accountId, question });
      return undefined;
    } catch (error) {
      if (!(error instanceof LbError)) throw error;
      const { status, body, retryAfterSeconds, message } = error;
      // The only error without a code: the key was revoked while the request waited.
      if (body.code === undefined) throw new CoreError('UNAUTHORIZED', 'The API key was revoked.', { cause: error });
      return { status, code: body.code, message, retryAfterSeconds };
    }
  };
}
