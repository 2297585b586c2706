/** How long something takes, as the browser measures it. */

/** Begins now; calling the result says how many milliseconds have passed. */
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
