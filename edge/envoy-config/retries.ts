/**
 * What Envoy tries again: requests of which nothing was sent, and those on every other way there is. Several parts may
 * be gone at once, a machine and a facade for instance, so the number of tries follows the number of facades. Whoever
 * has got something of a request may have begun it.
 */

import type { Message } from '../message.ts';
import { duration, typed } from '../message.ts';

/** Nobody took the connection, or the stream, or the connection ended before anything went over it. */
const UNSENT = 'connect-failure,refused-stream,reset-before-request';
/** Tries of one request, whatever the number of facades. */
const TRIES_MAX = 16;
const PAUSE = { base_interval: duration(25), max_interval: duration(250) };
const OTHER_HOSTS: Message = {
  name: 'others',
  typed_config: typed('envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate'),
};
/** Next time those who come after the first choice; behind the last begins the first again. */
const OTHER_PRIORITIES: Message = {
  name: 'others',
  typed_config: typed('envoy.extensions.retry.priority.previous_priorities.v3.PreviousPrioritiesConfig', {
    update_frequency: 1,
  }),
};

/** Among equals: each gets one try. */
export function amongReplicas(replicas: number): Message {
  return { retry_on: UNSENT, num_retries: Math.min(TRIES_MAX, Math.max(2, replicas)), ...otherHosts(replicas) };
}

/**
 * Between a first choice and facades as the second: each facade gets one try, and the first choice one before each.
 * `more`: in its place.
 */
export function beforeFacades(facades: number, more: Message = {}): Message {
  return {
    retry_on: 'connect-failure,refused-stream',
    num_retries: triesBefore(facades),
    retry_back_off: PAUSE,
    ...otherHosts(facades),
    ...more,
    retry_priority: OTHER_PRIORITIES,
  };
}

/**
 * Of questions, which change nothing, so that one may be asked twice. Pauses of its own would fail those that wait for
 * their answer for long (Envoy 1.40).
 */
export function asking(facades: number): Message {
  return {
    retry_on: 'connect-failure,refused-stream,reset',
    num_retries: triesBefore(facades),
    retry_priority: OTHER_PRIORITIES,
  };
}

function triesBefore(facades: number): number {
  return Math.min(TRIES_MAX, 2 * facades + 1);
}

/** The same way again and again, until core has told of another one. */
export function untilTold(retries: number, pause: { first: number; max: number }): Message {
  return {
    retry_on: 'connect-failure,refused-stream',
    num_retries: retries,
    retry_priority: OTHER_PRIORITIES,
    retry_back_off: { base_interval: duration(pause.first), max_interval: duration(pause.max) },
  };
}

/** Another host is looked for so often, as chance may name one again. */
function otherHosts(hosts: number): Message {
  return { retry_host_predicate: [OTHER_HOSTS], host_selection_retry_max_attempts: 3 * Math.max(1, hosts) };
}
