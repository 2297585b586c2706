/** A JavaScript handler that takes `input.ms` milliseconds of no processor, then fails with the text `input.error` where that is given. */
import { setTimeout as delay } from 'node:timers/promises';
import { start } from 'slipway-worker';

start({
  async handler({ input }) {
    await delay(input.ms);
    if (input.error) throw new Error(input.error);
    return { took: input.ms };
  },
});
