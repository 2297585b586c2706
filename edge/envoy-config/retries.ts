/**
 * Retries by Envoy. It retries a request on every path, but only if no byte of it was sent. Several parts may be away
 * at once, for instance a machine and a facade, so the number of tries depends on the number of facades. If any byte
 * was received, the request is never retried: its receiver may have begun it.
 */

import type { Message } from '../message.ts';
import { duration, typed } from '../message.ts';

/**
 * Conditions under which no byte of a request was sent: the connection or the stream was refused, or the connection
 * was reset before the request.
 */
const UNSENT = 'connect-failure,refused-stream,reset-before-request';
/** Most tries of one request, also with more facades. */
const TRIES_MAX = 16;
const PAUSE = { base_interval: duration(25), max_interval: duration(250) };
const OTHER_HOSTS: Message = {
  name: 'others',
  typed_config: typed('envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate'),
};
/** Uses the next priority for a retry, and after the last priority the first again. */
const OTHER_PRIORITIES: Message = {
  name: 'others',
  typed_config: typed('envoy.extensions.retry.priority.previous_priorities.v3.PreviousPrioritiesConfig', {
    update_frequency: 1,
  }),
};

/** Returns a policy for equal replicas: each gets one try. */
export function amongReplicas(replicas: number): Message {
  return { retry_on: UNSENT, num_retries: Math.min(TRIES_MAX, Math.max(2, replicas)), ...otherHosts(replicas) };
}

/**
 * Returns a policy for a first choice, with facades as the second choice. Tries alternate between the first choice and
 * a facade, until each facade had one. `more`: fields that override the policy's.
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
 * Returns a policy for authorization requests. They change nothing, so they may be sent twice. It has no back-off of
 * its own: with one, requests that wait long for their answer would fail (Envoy 1.40).
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

/** Returns a policy that retries the same path until core has sent another one. */
export function untilAnnounced(retries: number, pause: { first: number; max: number }): Message {
  return {
    retry_on: 'connect-failure,refused-stream',
    num_retries: retries,
    retry_priority: OTHER_PRIORITIES,
    retry_back_off: { base_interval: duration(pause.first), max_interval: duration(pause.max) },
  };
}

/** Sets the tries to choose a different host. A random choice may hit the same host again. */
function otherHosts(hosts: number): Message {
  return { retry_host_predicate: [OTHER_HOSTS], host_selection_retry_max_attempts: 3 * Math.max(1, hosts) };
}
