/**
 * Whether a request is for a worker or a pod is known before the router looks at it, and then the router does not: its paths may be whatever their owner
 * likes, also what stands in no URL of ours. What is no path at all has no route either.
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { ACTIVATION_HEADER, readActivation } from '../../proto/wire/activation.ts';
import { isReadable } from '../plugins/unknown-route.ts';
import { lbTarget } from './lb-target.ts';
import type { LbTarget } from './lb-target.ts';
import type { Admitted } from './places.ts';
import { podOfHost, podOfPath } from './pod-target.ts';
import type { PodTarget } from './pod-target.ts';

/** By what a request is told to be for whom. */
export interface LbForms {
  /** Behind an endpoint's id they make the host form. */
  domains: readonly string[];
  /** Behind a pod's id and port they make the host form, which is open to everybody. Empty: there is none. */
  podDomains: readonly string[];
  /** Whose word on a request counts. Empty: nobody's. */
  edgeKey: string;
}

/** `letIn`: an edge has let the request in. */
export type LetIn = LbTarget & { letIn?: Admitted };

/** What a request is for. */
export type Wanted = { pod: PodTarget; target?: undefined } | { pod?: undefined; target: LetIn };

/** No surface has a route there. */
const NO_ROUTE = '/.';
/** Longest path of an operation that may be a worker's as well, in characters without the query: no id that the router takes is longer. */
const SHARED_LENGTH_MAX = 1_024;

export class LbRouting {
  readonly #forms: LbForms;
  readonly #wanted = new WeakMap<IncomingMessage, Wanted>();
  /** What hooks and handlers see, where the router saw something else. */
  readonly #urls = new WeakMap<IncomingMessage, string>();

  constructor(forms: LbForms) {
    this.#forms = forms;
  }

  /** What the router is to see of a request whose path is `url`. */
  routed(request: IncomingMessage, url: string): string {
    request.url = url;
    const wanted = wantedOf(request, this.#forms);
    if (wanted) this.#wanted.set(request, wanted);
    const mayBeOurs = !wanted || (wanted.target?.isShared === true && url.split('?', 1)[0]!.length <= SHARED_LENGTH_MAX);
    if (mayBeOurs && isReadable(url)) return url;
    this.#urls.set(request, url);
    return NO_ROUTE;
  }

  /** Adds the hook that must be an app's first. */
  addTo(app: FastifyInstance): void {
    app.addHook('onRequest', ({ raw }, _reply, done) => {
      const url = this.#urls.get(raw);
      if (url !== undefined) raw.url = url;
      done();
    });
  }

  /** Undefined: it is for another surface. */
  wantedBy(request: IncomingMessage): Wanted | undefined {
    return this.#wanted.get(request);
  }
}

/** The pod or the endpoint that a request is for; undefined: it is for another surface. A host or an edge's word comes before any path. */
export function wantedOf(request: IncomingMessage, forms: LbForms): Wanted | undefined {
  const open = podOfHost(request, forms.podDomains);
  if (open) return { pod: open };
  const target = targetOf(request, forms);
  if (target) return { target };
  const pod = podOfPath(request);
  return pod && { pod };
}

/** What a request asks for; an edge's activation names the endpoint, and then the path is the worker's already. Undefined: it is for another surface. */
function targetOf(request: IncomingMessage, { edgeKey, domains }: LbForms): LetIn | undefined {
  const text = request.headers[ACTIVATION_HEADER];
  const activation = typeof text === 'string' ? readActivation(edgeKey, text) : undefined;
  if (!activation) return lbTarget(request, domains);
  const prefix = request.headers['x-forwarded-prefix'];
  return {
    endpointId: activation.endpointId, path: request.url ?? '/', prefix: typeof prefix === 'string' ? prefix : '', queryKey: undefined, isShared: false,
    letIn: { apiKey: '', accountId: activation.accountId },
  };
}
