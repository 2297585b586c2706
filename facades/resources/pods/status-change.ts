/**
 * Describes the last change of a pod's state, the same on both public surfaces (docs/reference/management.md#pods,
 * docs/reference/management.md#graphql-operations).
 */
import { PodState } from '@slipway/proto/gen/slipway/v1/pod';

const STATE_WORDS: Readonly<Record<number, string | undefined>> = {
  [PodState.STARTING]: 'Starting',
  [PodState.RUNNING]: 'Running',
  [PodState.EXITED]: 'Exited',
  [PodState.FAILED]: 'Failed',
};

/**
 * Returns the machine's text about the pod, or else its state (a PodState), with the time as ISO 8601 if it is known.
 * Empty if nothing has happened yet.
 */
export function statusChange(statusText: string, state: number, time: string | null): string {
  const words = statusText || (STATE_WORDS[state] ?? '');
  return time === null || words === '' ? words : `${words}: ${time}`;
}
