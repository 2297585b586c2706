/** Measures durations in the browser. */

/** Starts a measurement. Call the result for the elapsed milliseconds. */
export function stopwatch(): () => number {
  const beganMs = performance.now();
  return () => performance.now() - beganMs;
}

/** Calls the listener once, in `ms` milliseconds, unless the result is called before. */
export function after(ms: number, listener: () => void): () => void {
  const timer = setTimeout(listener, ms);
  return () => clearTimeout(timer);
}

/** Calls the listener again and again, `ms` milliseconds apart, until the result is called. */
export function every(ms: number, listener: () => void): () => void {
  const timer = setInterval(listener, ms);
  return () => clearInterval(timer);
}
