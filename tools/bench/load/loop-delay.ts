/**
 * Loaded into a program under test (`--import`): measures how long its event loop is busy at a stretch and reports it
 * when the bench asks. It counts the processor time of the loop's thread between two samples, so that other programs on
 * a busy machine do not count.
 */

/** Milliseconds between two samples. A reported time may be too long by this much. */
const LOOK_MS = 1;

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

/** Replies to questions of child.ts with the longest time since the last question. */
process.on('message', (question: { id: number; ask?: string }) => {
  if (question.ask !== 'loopMs') return;
  process.send?.({ id: question.id, answer: longestMs });
  longestMs = 0;
});
// The channel must not keep the program alive.
process.channel?.unref();
