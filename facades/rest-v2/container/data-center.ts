/** Location of a machine. */
import type { Machine } from '@slipway/proto/gen/slipway/v1/machine';

/** Matches a country code: two capitals. The operator sets countries and data centres in one list. */
const COUNTRY = /^[A-Z]{2}$/;

/** Returns the data centre of a machine; null: it is in none, or there is no machine. */
export function dataCenterOf(machine: Machine | undefined): string | null {
  return machine?.locations.find((code) => !COUNTRY.test(code)) ?? null;
}
