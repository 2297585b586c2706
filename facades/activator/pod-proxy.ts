/**
 * Forwards requests to the HTTP ports of pods. The path form needs a key of the account, because it shares its origin
 * with the API. The host form is open to everyone if the operator enables it: each port has its own origin, and the
 * pod's program asks for a password if it needs one.
 */
import type { IncomingMessage } from 'node:http';
import { boundedCache } from '@slipway/kit/bytes/bounded-cache';
import type { Clock } from '@slipway/kit/time/clock';
import type { LocatePodRequest, LocatePodResponse } from '@slipway/proto/gen/slipway/v1/edge_service';
import { LB_BODY_BYTES_MAX } from '@slipway/proto/wire/limits';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyReply } from 'fastify';
import { keyOfRestRequest } from '../plugins/credentials.ts';
import type { KeyWatch, WatchKey } from '../plugins/limits/key-watch.ts';
import type { RateLimit } from '../plugins/limits/rate-limit.ts';
import { clientGone } from './client-gone.ts';
import type { ForwardLimits, ForwardTarget } from './forwarding/forward.ts';
import { forward } from './forwarding/forward.ts';
import { dial } from './forwarding/worker-connection.ts';
import { payloadTooLarge, podKeyMissing, podNotListening } from './lb-error.ts';
import type { PodTarget } from './pod-target.ts';
import type { Tunnels } from './tunnels.ts';
import type { UpgradeSocket } from './upgrade-socket.ts';

/** How long a lookup is cached, in milliseconds (edge_service.proto). A page makes a hundred requests at once. */
const CACHE_MS = 1_500;
const CACHE_MAX = 5_000;
/** Most concurrent lookups: a flood of invalid pods or keys must not become a flood of calls to core. */
const LOOKUPS_MAX = 1_000;
/** Target of a request to a pod: there is no other worker to retry at. */
const NO_WORKER: ForwardTarget = { workerId: '', expectsContinue: false, disableContinue: () => undefined };

export interface PodProxyOptions {
  /** Looks up a pod in core. Throws CoreError. */
  locate(request: LocatePodRequest, apiKey: string): Promise<LocatePodResponse>;
  tunnels: Tunnels;
  rateLimit: RateLimit | undefined;
  limits: ForwardLimits;
  keys: KeyWatch;
  clock: Clock;
}

export class PodProxy {
  readonly #options: PodProxyOptions;
  readonly #locations = boundedCache<string, Promise<LocatePodResponse>>(CACHE_MAX, {
    ttl: CACHE_MS,
    perf: { now: () => this.#options.clock.monotonicMs() },
  });

  #lookups = 0;

  constructor(options: PodProxyOptions) {
    this.#options = options;
  }

  /** Forwards a request to a pod. Rejects with the error for the client. */
  async serve(
    request: IncomingMessage,
    reply: FastifyReply,
    target: PodTarget,
    upgrade?: UpgradeSocket,
  ): Promise<void> {
    const { limits, clock, rateLimit } = this.#options;
    const location = await this.#locate(request, target);
    await rateLimit?.admit(
      { endpointId: target.podId, operation: 'lb', accountId: location.accountId, workersRunning: 1 },
      reply,
    );
    if (Number(request.headers['content-length'] ?? 0) > LB_BODY_BYTES_MAX) throw payloadTooLarge('request');
    reply.hijack();
    const gone = clientGone(reply.raw, upgrade);
    if (gone.aborted) return;
    const socket = await this.#connect(location, target, gone);
    if (gone.aborted) return socket?.destroy() && undefined;
    if (!socket) throw podNotListening(target.port);
    const isOpen = target.prefix === '';
    const { podId: endpointId, path, prefix } = target;
    const seen = { endpointId, path, prefix, queryKey: undefined, isShared: false, keepsKey: isOpen };
    const watchKey = isOpen ? undefined : this.#watchKey(request, target);
    await forward(
      { request, reply: reply.raw, target: seen, gone, upgrade, watchKey },
      { socket },
      NO_WORKER,
      limits,
      clock,
    );
  }

  #watchKey(request: IncomingMessage, target: PodTarget): WatchKey {
    const name = `pod ${nameOf(target, isWrite(request), keyOfRestRequest(request.headers.authorization) ?? '')}`;
    return (onRefused) =>
      this.#options.keys.watch(name, async () => (await this.#locate(request, target)) !== undefined, onRefused);
  }

  #connect({ address, tunnelMachineId }: LocatePodResponse, { podId, port }: PodTarget, gone: AbortSignal) {
    if (tunnelMachineId !== '') return this.#options.tunnels.open(tunnelMachineId, `${podId}:${port}`, gone);
    return address === '' ? Promise.resolve(undefined) : dial(address, gone);
  }

  #locate(request: IncomingMessage, target: PodTarget): Promise<LocatePodResponse> {
    const { podId, port, prefix } = target;
    const open = prefix === '';
    const apiKey = open ? '' : keyOfRestRequest(request.headers.authorization);
    if (apiKey === undefined) throw podKeyMissing();
    const write = isWrite(request);
    const name = nameOf(target, write, apiKey);
    const known = this.#locations.get(name);
    if (known) return known;
    if (this.#lookups >= LOOKUPS_MAX)
      throw new CoreError('RATE_LIMITED', 'Too many pods are being looked for; try again shortly.');
    this.#lookups += 1;
    const asked = this.#options.locate({ podId, port, write, open }, apiKey).finally(() => {
      this.#lookups -= 1;
    });
    this.#locations.set(name, asked);
    // A failed lookup is not cached: the pod may be there in a moment.
    asked.catch(() => {
      if (this.#locations.peek(name) === asked) this.#locations.delete(name);
    });
    return asked;
  }
}

function isWrite({ method, headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined || !/^(GET|HEAD|OPTIONS)$/.test(method ?? '');
}

function nameOf({ podId, port }: PodTarget, write: boolean, apiKey: string): string {
  return JSON.stringify([podId, port, write, apiKey]);
}
