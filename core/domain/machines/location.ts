/** Places that machines carry: country codes and data-centre ids, in one list as the operator wrote it. */

/** A machine that carries it takes what asks for any place of the hosted service. */
export const ANY_HOSTED = '*';

/** As the hosted service names its data centres: `US-CA-2`, `EUR-IS-1`. */
const HOSTED_DATA_CENTER = /^[A-Z]{2,3}-[A-Z]{2,3}-\d{1,2}$/;

/** Two capital letters are a country; everything else is a data centre. */
export function isCountryCode(place: string): boolean {
  return /^[A-Z]{2}$/.test(place);
}

/** Whether a machine at these places is at the one asked for. */
export function isAt(locations: readonly string[], place: string): boolean {
  return (
    locations.includes(place) ||
    (locations.includes(ANY_HOSTED) && (isCountryCode(place) || HOSTED_DATA_CENTER.test(place)))
  );
}
