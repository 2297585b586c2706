/**
 * Finds requests to workers and pods before the router sees them, and hides their paths from the router: such a path
 * may be anything, even a path that the router rejects. A path that cannot be decoded gets no route either.
 */

import type { IncomingMessage } from 'node:http';
import type { EdgeKeys } from '@slipway/kit/host/edge-keys';
import { ACTIVATION_HEADER, readActivation } from '@slipway/kit/net/activation';
import type { FastifyInstance } from 'fastify';
import { isReadable } from '../plugins/errors/unknown-route.ts';
import type { LbTarget } from './lb-target.ts';
import { lbTarget } from './lb-target.ts';
import type { AuthorizedCaller } from './load-balancer.ts';
import type { PodTarget } from './pod-target.ts';
import { podOfHost, podOfPath } from './pod-target.ts';

/** Forms by which a request names its target. */
export interface LbForms {
  /** Domains of the host form, `<endpoint id>.<domain>`. */
  domains: readonly string[];
  /** Domains of the host form of pods, `<pod id>-<port>.<domain>`, which needs no key. Empty if there is none. */
  podDomains: readonly string[];
  /** Keys by which edges authenticate. */
  edgeKeys: EdgeKeys;
}

/** Target of a request. `authorized` is the caller if an edge has authorized the request. */
export type AuthorizedTarget = LbTarget & { authorized?: AuthorizedCaller };

/** Where a request goes: a pod or a load-balancing endpoint. */
export type RoutedRequest = { pod: PodTarget; target?: undefined } | { pod?: undefined; target: AuthorizedTarget };

/** A path without a route. */
const NO_ROUTE = '/.';
/**
 * Longest path of an operation that may belong to a worker too, in characters without the query: the router accepts no
 * longer ids.
 */
const SHARED_LENGTH_MAX = 1_024;

export class LbRouting {
  readonly #forms: LbForms;
  readonly #routes = new WeakMap<IncomingMessage, RoutedRequest>();
  /** Original URLs of requests whose path is hidden from the router. */
  readonly #urls = new WeakMap<IncomingMessage, string>();

  constructor(forms: LbForms) {
    this.#forms = forms;
  }

  /** Returns the path that the router sees for a request whose path is `url`. */
  routed(request: IncomingMessage, url: string): string {
    request.url = url;
    const route = routeOf(request, this.#forms);
    if (route) this.#routes.set(request, route);
    const mayBeOurs = !route || (route.target?.isShared === true && url.split('?', 1)[0]!.length <= SHARED_LENGTH_MAX);
    if (mayBeOurs && isReadable(url)) return url;
    this.#urls.set(request, url);
    return NO_ROUTE;
  }

  /** Adds the hook that restores original URLs. It must be the first of the app. */
  addTo(app: FastifyInstance): void {
    app.addHook('onRequest', ({ raw }, _reply, done) => {
      const url = this.#urls.get(raw);
      if (url !== undefined) raw.url = url;
      done();
    });
  }

  /** Returns the route of a request. `undefined` if it is for another surface. */
  routeFor(request: IncomingMessage): RoutedRequest | undefined {
    return this.#routes.get(request);
  }
}

/**
 * Returns the pod or endpoint that a request is for. `undefined` if it is for another surface. Host and edge header win
 * over the path.
 */
export function routeOf(request: IncomingMessage, forms: LbForms): RoutedRequest | undefined {
  const open = podOfHost(request, forms.podDomains);
  if (open) return { pod: open };
  const target = endpointTargetOf(request, forms);
  if (target) return { target };
  const pod = podOfPath(request);
  return pod && { pod };
}

/**
 * Returns the endpoint of a request. With the activation header of an edge the path is the worker's already.
 * `undefined` if it is for another surface.
 */
function endpointTargetOf(request: IncomingMessage, { edgeKeys, domains }: LbForms): AuthorizedTarget | undefined {
  const text = request.headers[ACTIVATION_HEADER];
  const activation = typeof text === 'string' ? readActivation(edgeKeys, text) : undefined;
  if (!activation) return lbTarget(request, domains);
  const prefix = request.headers['x-forwarded-prefix'];
  return {
    endpointId: activation.endpointId,
    path: request.url ?? '/',
    prefix: typeof prefix === 'string' ? prefix : '',
    queryKey: undefined,
    isShared: false,
    authorized: { apiKey: '', accountId: activation.accountId },
  };
}
