/**
 * Texts for people that say why a worker that serves HTTP is not ready: its last probe result, and for how long it has
 * been the same. Pure.
 */

import type { HealthAnswer } from './ask-health.ts';
import { ANSWER_MS } from './ask-health.ts';
import type { HttpServing } from './http-serving.ts';

/** A starting server does not listen for a moment. Up to this time, in milliseconds, that is not reported. */
const NORMAL_MS = 3_000;
/** Durations are rounded to steps, so that the text does not change every second: upper bound and step, in seconds. */
const STEPS = [
  [60, 5],
  [600, 15],
  [Infinity, 60],
] as const;

/** How and where a server's health is checked. */
export type ProbeResult = Pick<HttpServing, 'isAskedByGrpc' | 'healthPath' | 'port' | 'healthPort' | 'wasReady'>;

/** Returns the name of the probe. */
export function probeName({ isAskedByGrpc, healthPath }: ProbeResult): string {
  return isAskedByGrpc ? 'grpc.health.v1.Health/Check' : `GET ${healthPath}`;
}

/**
 * Returns the last result and the expected one; empty if the worker is ready or has only just started. `sameMs`: for
 * how long the result has been the same, in milliseconds.
 */
export function notReadyText(server: ProbeResult, answer: HealthAnswer, sameMs: number): string {
  if (answer === 200 || (!server.wasReady && sameMs < NORMAL_MS)) return '';
  const time = duration(sameMs / 1_000);
  const lasting = time === '' ? '' : ` for ${time}`;
  const where = `${probeName(server)} on port ${server.healthPort}`;
  switch (answer) {
    case 'REFUSED':
      return `nothing listens on port ${server.healthPort}${lasting}: ${mustListen(server)}`;
    case 'SLOW':
      return (
        `its server takes longer than ${ANSWER_MS / 1_000} s to answer ${where}${lasting}: 200 makes it ready, ` +
        '204 says that it still starts'
      );
    case 'CUT':
      return (
        `its server ends the connection without an answer to ${where}${lasting}: 200 makes it ready, 204 says ` +
        'that it still starts'
      );
    case 204:
      return `its server answers ${where} with 204${lasting}: it still starts, and 200 makes it ready`;
  }
  if (server.isAskedByGrpc) return `its server answers ${where} with another status than SERVING${lasting}`;
  return `its server answers ${where} with ${answer}${lasting}: 200 makes it ready, 204 says that it still starts`;
}

/** Returns why a worker is ended that returned neither 200 nor 204 for `silenceMs` milliseconds. */
export function silentText(server: ProbeResult, answer: HealthAnswer, silenceMs: number): string {
  const where = `${probeName(server)} on port ${server.healthPort}`;
  const sentence = `${where} has answered neither 200 nor 204 for ${Math.round(silenceMs / 1_000)} s.`;
  switch (answer) {
    case 'REFUSED':
      return `${sentence} Nothing listens there: ${mustListen(server)}.`;
    case 'SLOW':
      return `${sentence} Its server takes longer than ${ANSWER_MS / 1_000} s to answer.`;
    case 'CUT':
      return `${sentence} Its server ends the connection without an answer.`;
  }
  return server.isAskedByGrpc
    ? sentence
    : `${sentence} Its server answers with ${answer}: HEALTH_CHECK_PATH names another path than ${server.healthPath}.`;
}

function mustListen({ port, healthPort, healthPath, isAskedByGrpc }: ProbeResult): string {
  const variable = port === healthPort ? 'PORT' : 'PORT_HEALTH';
  const path = isAskedByGrpc ? '' : `, and answer GET ${healthPath} there`;
  return (
    `a worker of a load-balancing endpoint must listen on the port that the variable ${variable} says, on 0.0.0.0 ` +
    `(a command also on 127.0.0.1)${path}`
  );
}

/** Returns the duration rounded down to its step; empty if it is shorter than the first step. */
function duration(seconds: number): string {
  const [, step] = STEPS.find(([below]) => seconds < below)!;
  const shown = Math.floor(seconds / step) * step;
  if (shown === 0) return '';
  return shown >= 600 ? `${shown / 60} min` : `${shown} s`;
}
