/**
 * Records a span for each request whose trace is recorded. Without tracing no hook is added. The query is left out,
 * because it may contain a key.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Trace } from '@slipway/kit/observe/trace';
import type { Tracing } from '@slipway/kit/observe/tracing';
import type { FastifyInstance } from 'fastify';

/** Adds the hook for routes that are added afterwards. */
export function traceRequests(app: FastifyInstance, tracing: Tracing | undefined): void {
  if (!tracing) return;
  app.addHook('onRequest', (request, reply, done) => {
    const header = headerOf(request.raw);
    if (!tracing.records(header)) return done();
    const {
      method,
      routeOptions: { url: route = 'none' },
    } = request;
    const { endpointId, jobId } = (request.params ?? {}) as Record<string, string | undefined>;
    const trace = tracing.root(`${method} ${route}`, header, {
      'http.request.method': method,
      'http.route': route,
      'slipway.request.id': request.id,
      ...(endpointId === undefined ? {} : { 'slipway.endpoint.id': endpointId.slice(0, 64) }),
      ...(jobId === undefined ? {} : { 'slipway.job.id': jobId.slice(0, 64) }),
    });
    if (trace) {
      request.trace = trace;
      reply.raw.once('close', () => {
        const { statusCode } = reply.raw;
        trace.set({ 'http.response.status_code': statusCode });
        trace.end(statusCode >= 500 ? String(statusCode) : undefined);
      });
    }
    done();
  });
}

/**
 * Records the span of a request to a load-balancing endpoint until its response has ended, and passes it to the worker
 * as traceparent. Returns `undefined` if it is not recorded: then the client's own header is forwarded.
 */
export function traceForwarded(
  tracing: Tracing | undefined,
  request: IncomingMessage,
  reply: ServerResponse,
  endpointId: string,
): Trace | undefined {
  const header = headerOf(request);
  if (!tracing?.records(header)) return undefined;
  const { method = 'GET', rawHeaders } = request;
  const trace = tracing.root(`${method} to a worker`, header, {
    'http.request.method': method,
    'slipway.endpoint.id': endpointId,
  });
  if (!trace) return undefined;
  for (let at = rawHeaders.length - 2; at >= 0; at -= 2)
    if (rawHeaders[at]!.toLowerCase() === 'traceparent') rawHeaders.splice(at, 2);
  rawHeaders.push('traceparent', trace.traceparent);
  reply.once('close', () => {
    const { statusCode, headersSent } = reply;
    trace.set({ 'http.response.status_code': statusCode });
    const failure = statusCode >= 500 ? String(statusCode) : undefined;
    trace.end(headersSent ? failure : 'no answer');
  });
  return trace;
}

function headerOf({ headers: { traceparent } }: IncomingMessage): string | undefined {
  return typeof traceparent === 'string' ? traceparent : undefined;
}
