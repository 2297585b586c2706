/**
 * Requests to the http ports of pods. By path they need a key of the account, as they share an origin with the API; by host the operator has opened
 * them to everybody, each pod's port is an origin of its own, and what asks for a password is the pod's program.
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyReply } from 'fastify';
import { boundedCache } from '../../core/runtime/bounded-cache.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { LocatePodRequest, LocatePodResponse } from '../../proto/gen/slipway/v1/edge_service.ts';
import { LB_BODY_BYTES_MAX } from '../../proto/wire/limits.ts';
import { CoreError } from '../../proto/wire/reason.ts';
import { keyOfRestRequest } from '../plugins/credentials.ts';
import type { KeyWatch, WatchKey } from '../plugins/key-watch.ts';
import type { RateLimit } from '../plugins/rate-limit.ts';
import type { UpgradeSocket } from './upgrade-socket.ts';
import { clientGone } from './client-gone.ts';
import { dial, forward } from './forward.ts';
import type { ForwardLimits, ForwardPlace } from './forward.ts';
import { noPodKey, podSilent, tooLarge } from './lb-error.ts';
import type { PodTarget } from './pod-target.ts';
import type { Tunnels } from './tunnels.ts';

/** How long an answer of core is used, in milliseconds (edge_service.proto). A page brings a hundred requests at once. */
const KEPT_MS = 1_500;
const KEPT_MAX = 5_000;
/** Questions to core at a time: a flood of made-up pods or keys must not become a flood of calls. */
const QUESTIONS_MAX = 1_000;
/** A pod is no worker: nobody else could have its requests. */
const NO_WORKER: ForwardPlace = { workerId: '', isAsked: false, askNoMore: () => undefined };

/** What it needs. */
export interface PodProxyOptions {
  /** Asks core. Throws CoreError. */
  locate(request: LocatePodRequest, apiKey: string): Promise<LocatePodResponse>;
  tunnels: Tunnels;
  rateLimit: RateLimit | undefined;
  limits: ForwardLimits;
  keys: KeyWatch;
  clock: Clock;
}

export class PodProxy {
  readonly #options: PodProxyOptions;
  readonly #places = boundedCache<string, Promise<LocatePodResponse>>(KEPT_MAX, { ttl: KEPT_MS, perf: { now: () => this.#options.clock.monotonicMs() } });

  #questions = 0;

  constructor(options: PodProxyOptions) {
    this.#options = options;
  }

  /** Carries a request there. Rejects with what its client is to be told. */
  async serve(request: IncomingMessage, reply: FastifyReply, target: PodTarget, upgrade?: UpgradeSocket): Promise<void> {
    const { limits, clock, rateLimit } = this.#options;
    const place = await this.#locate(request, target);
    await rateLimit?.admit({ endpointId: target.podId, operation: 'lb', accountId: place.accountId, workersRunning: 1 }, reply);
    if (Number(request.headers['content-length'] ?? 0) > LB_BODY_BYTES_MAX) throw tooLarge('request');
    reply.hijack();
    const gone = clientGone(reply.raw, upgrade);
    if (gone.aborted) return;
    const socket = await this.#connect(place, target, gone);
    if (gone.aborted) return socket?.destroy() && undefined;
    if (!socket) throw podSilent(target.port);
    const isOpen = target.prefix === '';
    const { podId: endpointId, path, prefix } = target;
    const seen = { endpointId, path, prefix, queryKey: undefined, isShared: false, keepsKey: isOpen };
    const watchKey = isOpen ? undefined : this.#watchKey(request, target);
    await forward({ request, reply: reply.raw, target: seen, gone, upgrade, watchKey }, { socket }, NO_WORKER, limits, clock);
  }

  #watchKey(request: IncomingMessage, target: PodTarget): WatchKey {
    const name = `pod ${nameOf(target, isWrite(request), keyOfRestRequest(request.headers.authorization) ?? '')}`;
    return (onRefused) => this.#options.keys.watch(name, async () => (await this.#locate(request, target)) !== undefined, onRefused);
  }

  #connect({ address, tunnelMachineId }: LocatePodResponse, { podId, port }: PodTarget, gone: AbortSignal) {
    if (tunnelMachineId !== '') return this.#options.tunnels.open(tunnelMachineId, `${podId}:${port}`, gone);
    return address === '' ? Promise.resolve(undefined) : dial(address, gone);
  }

  #locate(request: IncomingMessage, target: PodTarget): Promise<LocatePodResponse> {
    const { podId, port, prefix } = target;
    const open = prefix === '';
    const apiKey = open ? '' : keyOfRestRequest(request.headers.authorization);
    if (apiKey === undefined) throw noPodKey();
    const write = isWrite(request);
    const name = nameOf(target, write, apiKey);
    const known = this.#places.get(name);
    if (known) return known;
    if (this.#questions >= QUESTIONS_MAX) throw new CoreError('RATE_LIMITED', 'Too many pods are being looked for; try again shortly.');
    this.#questions += 1;
    const asked = this.#options.locate({ podId, port, write, open }, apiKey).finally(() => { this.#questions -= 1; });
    this.#places.set(name, asked);
    // What was refused may be there in a moment.
    asked.catch(() => { if (this.#places.peek(name) === asked) this.#places.delete(name); });
    return asked;
  }
}

function isWrite({ method, headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined || !/^(GET|HEAD|OPTIONS)$/.test(method ?? '');
}

function nameOf({ podId, port }: PodTarget, write: boolean, apiKey: string): string {
  return JSON.stringify([podId, port, write, apiKey]);
}
