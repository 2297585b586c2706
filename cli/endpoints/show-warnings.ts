/** Shows below a table why endpoints have fewer workers than they should, and which of their releases are held. */

import { printable } from '@slipway/kit/log/printable';
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { Output } from '../output/output.ts';

/** Shows why an endpoint has too few workers or can have none, and whether its release is held. */
export function showWarnings(
  output: Output,
  { name, throttledReason, cannotRunReason, rolloutState, rolloutReason }: Endpoint,
): void {
  if (rolloutState === 'HELD')
    output.line(`\n${output.style('yellow', `The release of ${name} is held`)}: ${printable(rolloutReason)}`);
  if (cannotRunReason !== '') output.line(`\n${output.style('yellow', `${name} can run nowhere`)}: ${cannotRunReason}`);
  if (throttledReason !== '')
    output.line(`\n${output.style('yellow', `${name} needs more workers`)}: ${throttledReason}`);
}
