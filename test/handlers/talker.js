/**
 * A JavaScript handler that writes while it works: a line at its start, then for each of `input.words` a line on stdout and a streamed
 * value. With `gate` it waits for the file `gate`/<number of the word> before each.
 */
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { progress, start } from 'slipway-worker';

process.stdout.write('the talker is here\n');

start({
  async *handler(job) {
    const { words, gate } = job.input;
    await progress(job, 'warming up');
    for (const [index, word] of words.entries()) {
      while (gate && !existsSync(`${gate}/${index + 1}`) && !job.signal.aborted) await delay(10);
      process.stdout.write(`saying ${word}\n`);
      yield word;
    }
  },
});
