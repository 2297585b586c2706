/** Refusals of REST v2 that core's reasons have no status for. */
import { HttpRejection } from '../plugins/errors/http-rejection.ts';

/** Most faults in one response. */
const FAULTS_MAX = 50;
/** Faults in the detail text. The list of errors has all. */
const REPORTED_MAX = 3;

/** Returns the rejection of a request that does not match its schema (422). */
export function misfit(faults: readonly string[]): HttpRejection {
  const reported = faults.slice(0, REPORTED_MAX).join('; ');
  const text = faults.length > REPORTED_MAX ? `${reported}; and ${faults.length - REPORTED_MAX} more` : reported;
  return new HttpRejection(text, { status: 422, code: 'invalid_request', faults: faults.slice(0, FAULTS_MAX) });
}

/** Returns the rejection of a request that matches the schema but breaks a rule between members or resources (400). */
export function against(text: string): HttpRejection {
  return new HttpRejection(text, { status: 400, code: 'invalid_request' });
}

/** Returns the rejection of an operation that the state of the resource does not allow (409). */
export function conflict(text: string): HttpRejection {
  return new HttpRejection(text, { status: 409, code: 'conflict' });
}
