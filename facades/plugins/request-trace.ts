/** A span for each request whose trace is recorded. Without tracing no hook is added. The query stays out: it may hold a key. */
import type { FastifyInstance } from 'fastify';
import type { Tracing } from '../../core/runtime/tracing.ts';

/** Adds it for the routes that are added from now on. */
export function traceRequests(app: FastifyInstance, tracing: Tracing | undefined): void {
  if (!tracing) return;
  app.addHook('onRequest', (request, reply, done) => {
    const { method, headers, routeOptions: { url: route = 'none' } } = request;
    const { endpointId, jobId } = (request.params ?? {}) as Record<string, string | undefined>;
    const header = typeof headers.traceparent === 'string' ? headers.traceparent : undefined;
    const trace = tracing.root(`${method} ${route}`, header, {
      'http.request.method': method, 'http.route': route, 'slipway.request.id': request.id,
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
