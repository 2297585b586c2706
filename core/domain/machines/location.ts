/** Locations of machines: country codes and data center ids, in one list as the operator wrote it. */

/** A machine with this location accepts requests for any location of the hosted service. */
export const ANY_HOSTED = '*';

/** Form of the data center ids of the hosted service: `US-CA-2`, `EUR-IS-1`. */
const HOSTED_DATA_CENTER = /^[A-Z]{2,3}-[A-Z]{2,3}-\d{1,2}$/;

/** Returns true for a country: two capital letters. Every other location is a data center. */
export function isCountryCode(location: string): boolean {
  return /^[A-Z]{2}$/.test(location);
}

/** Returns true if a machine with these locations is at the requested one. */
export function isAt(locations: readonly string[], location: string): boolean {
  return (
    locations.includes(location) ||
    (locations.includes(ANY_HOSTED) && (isCountryCode(location) || HOSTED_DATA_CENTER.test(location)))
  );
}
