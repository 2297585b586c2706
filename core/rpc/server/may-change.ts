/** Decides which rpcs may change a row. The others only read, or only report what parts report all the time. */

/**
 * Verbs of rpcs after which no resting loop has work. A report of requests that wait or run counts elsewhere
 * (core/edge/demand-writer.ts), like what agents report in their sessions (core/dispatch/session/has-news.ts).
 */
const NO_CHANGE = /\/(?:Get|List|Read|Search|Explain|WhatIf|Wait|Watch|Check|Resolve|Locate|Fetch|Report|Tell)[^/]*$/;

/** Returns whether a call may have given a resting loop work. `path`: /package.Service/Method. Unknown verbs may. */
export function mayChange(path: string): boolean {
  return !NO_CHANGE.test(path);
}
