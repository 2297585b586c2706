/** Refusals of REST v2 that core's reasons have no status for. */
import { HttpRejection } from '../plugins/errors/http-rejection.ts';

/** Most faults that one answer tells. */
const FAULTS_MAX = 50;
/** Faults that the detail tells; the list of errors has all. */
const TOLD = 3;

/** Returns the refusal of a request that does not fit its schema (422). */
export function misfit(faults: readonly string[]): HttpRejection {
  const told = faults.slice(0, TOLD).join('; ');
  const text = faults.length > TOLD ? `${told}; and ${faults.length - TOLD} more` : told;
  return new HttpRejection(text, { status: 422, code: 'invalid_request', faults: faults.slice(0, FAULTS_MAX) });
}

/** Returns the refusal of what fits the schema and breaks a rule between members or things (400). */
export function against(text: string): HttpRejection {
  return new HttpRejection(text, { status: 400, code: 'invalid_request' });
}

/** Returns the refusal of what the state of a thing does not allow (409). */
export function conflict(text: string): HttpRejection {
  return new HttpRejection(text, { status: 409, code: 'conflict' });
}
