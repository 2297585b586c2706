/** Loaded into a program under test (`--import`): how long its event loop was busy at a time, told to the bench when it asks. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Milliseconds between two looks at the loop. */
const LOOK_MS = 2;
const NS_PER_MS = 1e6;

const delays = monitorEventLoopDelay({ resolution: LOOK_MS });
delays.enable();

/** As child.ts asks. The longest delay since it was last asked, in milliseconds. */
process.on('message', (question: { id: number; ask?: string }) => {
  if (question.ask !== 'loopMs') return;
  process.send?.({ id: question.id, answer: delays.max / NS_PER_MS });
  delays.reset();
});
// It must not keep the program alive.
process.channel?.unref();
