/**
 * The last change of a pod's state in words, the same on both public surfaces (docs/reference/management.md#pods,
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
 * What the machine said about it, else its state (a PodState), with the time as ISO 8601 where it is known. Empty:
 * nothing happened yet.
 */
export function statusChange(statusText: string, state: number, time: string | null): string {
  const words = statusText || (STATE_WORDS[state] ?? '');
  return time === null || words === '' ? words : `${words}: ${time}`;
}
