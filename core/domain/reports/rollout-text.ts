/** Texts about a rollout, for owners and operators. Pure. */
import type { Rollout, RolloutState } from '../scaling/rollout-settings.ts';
import { shortened } from '../settings/fields.ts';

/** The shown state of a rollout. */
export interface ShownRollout {
  /** Empty if it is complete, or if no version was good before. */
  state: Exclude<RolloutState, 'COMPLETE'> | '';
  /** The version that is scaled now. */
  servingVersion: number;
  /** Empty like the state. */
  text: string;
}

/** Maximum length of a shown reason, in characters. */
const REASON_LENGTH_MAX = 300;

/**
 * Returns the texts about an endpoint's rollout. `version`: of the endpoint. `withReason`: the caller may see what
 * workers wrote.
 */
export function describeRollout(version: number, rollout: Rollout | undefined, withReason = true): ShownRollout {
  const complete: ShownRollout = { state: '', servingVersion: version, text: '' };
  if (!rollout || rollout.state === 'COMPLETE') return complete;
  const { state, goodVersion, reason } = rollout;
  if (goodVersion === null && state !== 'ROLLING') return complete;
  const isServed = state === 'ROLLING' || state === 'REPLACING' || goodVersion === null;
  return {
    state,
    servingVersion: isServed ? version : goodVersion,
    text: textOf(state, version, goodVersion ?? 0, withReason ? reason : ''),
  };
}

function textOf(state: Exclude<RolloutState, 'COMPLETE'>, version: number, good: number, reason: string): string {
  switch (state) {
    case 'CHECKING':
      return `version ${version} is being checked; version ${good} serves until a worker of it is ready`;
    case 'ROLLING':
      return `version ${version} replaces earlier ones, one ready worker after the other`;
    case 'REPLACING':
      return `version ${version} replaces all workers at once`;
    case 'HELD':
      return (
        `version ${version} does not start${reason === '' ? '' : `: ${shortReason(reason)}`}; version ` +
        `${good} keeps serving`
      );
    case 'ROLLED_BACK':
      return `version ${version} was rolled back; version ${good} serves until the next release`;
  }
}

/** Returns the remedy for a version on hold. */
export const HELD_CHANGE =
  'release a version that starts, restart the endpoint to try this one again, or roll back to stay with the good one';

/** Returns what happened and the worker's last log line, which mostly names the cause. */
function shortReason(reason: string): string {
  const [what = '', ...lines] = reason.split('\n').filter((line) => line.trim() !== '');
  const last = lines.at(-1)?.trim();
  const more = lines.length > 1 ? ' …' : '';
  const summary = last === undefined ? what : `${what}${more} ${shortened(last, REASON_LENGTH_MAX)}`;
  return summary.replace(/\.+$/, '');
}
