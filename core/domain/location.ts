/** Places that machines carry: country codes and data-centre ids, in one list as the operator wrote it. */

/** Two capital letters are a country; everything else is a data centre. */
export function isCountryCode(place: string): boolean {
  return /^[A-Z]{2}$/.test(place);
}
