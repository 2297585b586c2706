/** Descriptions of endpoint settings that several surfaces share. */

export const CONCURRENCY =
  'Jobs at once on each worker whose SDK does not say so itself (type LB: requests at once, default 100)';
export const ENV = 'Environment variables of the workers. They override those of the template.';
export const RETRIES = 'How often a job whose worker was lost is put back into the queue.';
export const HANDLER_RETRIES = 'Also put back jobs whose handler reported an error.';
export const DURABLE =
  'Store every job before it runs. Otherwise a /runsync that is known to be short is stored with its outcome.';
export const STANDBY =
  'Where workers on standby keep their GPU memory. AUTO: on the GPU until others need it, then in host memory. ' +
  'GPU: on the GPU; they stop when others need it. HOST: in host memory at once.';
export const SCALER =
  'What scalerValue means. QUEUE_DELAY: seconds that a job may wait until another worker starts. ' +
  'REQUEST_COUNT: jobs for each worker, or ' +
  'requests of type LB, which takes no other. SLO (an extension): longest wait in seconds of 95 of ' +
  '100 jobs, with as few workers as possible.';
