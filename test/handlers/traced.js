/** Returns the trace context that it was given, and the names of all that the job has; with `fail` it throws. */
import { start } from 'slipway-worker';

start({
  concurrency: 4,
  handler(job) {
    if (job.input.fail) throw new Error('the secret is 4711');
    return { traceparent: job.traceparent ?? null, members: Object.keys(job).sort() };
  },
});
