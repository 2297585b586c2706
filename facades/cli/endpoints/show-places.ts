/** Why endpoints have fewer workers than they should, below a table. */
import type { Endpoint } from '../../../proto/gen/slipway/v1/endpoint.ts';
import type { Output } from '../output/output.ts';

/** Why an endpoint has fewer workers than it should, or can have none. */
export function showPlaces(output: Output, { name, throttledReason, cannotRunReason }: Endpoint): void {
  if (cannotRunReason !== '') output.line(`\n${output.look('yellow', `${name} can run nowhere`)}: ${cannotRunReason}`);
  if (throttledReason !== '') output.line(`\n${output.look('yellow', `${name} needs more workers`)}: ${throttledReason}`);
}
