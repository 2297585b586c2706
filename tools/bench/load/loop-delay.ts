/**
 * Loaded into a program under test (`--import`): for how long its event loop was busy at a time, told to the bench when
 * it asks. It is processor time of the loop's thread from one look to the next, so that other programs on a busy
 * machine do not count.
 */

/** Milliseconds between two looks; what is told is up to so much too long. */
const LOOK_MS = 5;

let longestMs = 0;
let before = cpuMs();
setInterval(() => {
  const now = cpuMs();
  longestMs = Math.max(longestMs, now - before);
  before = now;
}, LOOK_MS).unref();

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** As child.ts asks: the longest since it was last asked. */
process.on('message', (question: { id: number; ask?: string }) => {
  if (question.ask !== 'loopMs') return;
  process.send?.({ id: question.id, answer: longestMs });
  longestMs = 0;
});
// It must not keep the program alive.
process.channel?.unref();
