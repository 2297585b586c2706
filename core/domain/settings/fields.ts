/** Checks and names of fields that several resources have. */
import { DomainError } from './errors.ts';

/** Longest name in characters (docs/reference/management.md#endpoints). */
export const NAME_LENGTH_MAX = 191;
/** Units of a text whose characters are counted. Twice the largest limit of characters, and more. */
const COUNTED_UNITS_MAX = 64 * 1024;
/** Most variables of an environment, and the longest value in characters. */
const ENV_SIZE_MAX = 1_000;
const ENV_VALUE_LENGTH_MAX = 131_072;
/**
 * Largest program of a worker or pod in bytes, its environment included. An agent gets the programs of its whole
 * machine in one message, which must stay far below the message size limit: no account may cut a machine off. Linux
 * starts no process with much more anyway.
 */
const PROGRAM_BYTES_MAX = 262_144;
const LIST_LENGTH_MAX = 100;
/** The last millisecond that the contract can express: the end of the year 9999. */
export const TIME_MS_MAX = 253_402_300_799_999;

/**
 * Returns the number of characters, as JSON schemas count them: a character outside the basic plane is one. In a text
 * over 64 Ki units it counts as two: a list of the characters of many megabytes would block the process.
 */
export function characterCount(text: string): number {
  return text.length > COUNTED_UNITS_MAX ? text.length : [...text].length;
}

/** Throws INVALID_REQUEST unless the name has 1 to 191 characters and no NUL. */
export function checkName(field: string, name: string): void {
  const length = characterCount(name);
  if (length === 0 || length > NAME_LENGTH_MAX) {
    throw invalid(`${field} has ${length} characters, but must have 1 to ${NAME_LENGTH_MAX}`);
  }
  checkText(field, name);
}

/** Throws INVALID_REQUEST if the program is larger than 256 KiB. */
export function checkProgramBytes(what: string, program: unknown): void {
  const bytes = Buffer.byteLength(JSON.stringify(program));
  if (bytes > PROGRAM_BYTES_MAX)
    throw invalid(`${what} takes ${bytes} bytes, but may take ${PROGRAM_BYTES_MAX}; put what is large into a file`);
}

/** Throws INVALID_REQUEST unless the names of the variables are POSIX names and nothing contains a NUL. */
export function checkEnv(env: Record<string, string>): void {
  const entries = Object.entries(env);
  if (entries.length > ENV_SIZE_MAX) throw invalid(`env has ${entries.length} variables, but may have ${ENV_SIZE_MAX}`);
  for (const [name, value] of entries) {
    if (!/^[A-Za-z_][A-Za-z0-9_.-]{0,254}$/.test(name)) {
      throw invalid(`env: ${JSON.stringify(name.slice(0, 64))} is not a name for a variable`);
    }
    if (value.length > ENV_VALUE_LENGTH_MAX)
      throw invalid(`env: ${name} is longer than ${ENV_VALUE_LENGTH_MAX} characters`);
    checkText(`env: ${name}`, value);
  }
}

/** Throws INVALID_REQUEST unless there are at most 100 texts of 1 to 191 characters. */
export function checkTexts(field: string, texts: readonly string[]): void {
  if (texts.length > LIST_LENGTH_MAX)
    throw invalid(`${field} has ${texts.length} entries, but may have ${LIST_LENGTH_MAX}`);
  for (const text of texts) checkName(field, text);
}

/** Throws INVALID_REQUEST unless all versions are like 12.8. */
export function checkCudaVersions(versions: readonly string[]): void {
  checkTexts('allowed_cuda_versions', versions);
  for (const version of versions) {
    if (!/^\d{1,3}\.\d{1,3}$/.test(version))
      throw invalid(`allowed_cuda_versions: ${JSON.stringify(version)} is not a version like 12.8`);
  }
}

/** Throws INVALID_REQUEST if the text contains a NUL, which PostgreSQL cannot store, or a lone surrogate. */
export function checkText(field: string, text: string): void {
  if (text.includes('\0') || !text.isWellFormed()) throw invalid(`${field} contains a character that cannot be stored`);
}

/** Throws INVALID_REQUEST for a time out of range, or none at all. `undefined`: it was left out. */
export function checkTime(field: string, ms: number | undefined): void {
  if (ms !== undefined && !(ms >= 0 && ms <= TIME_MS_MAX))
    throw invalid(`${field} must be a time of the years 1970 to 9999`);
}

/**
 * Returns the first `lengthMax` characters of a text. A character that does not fit whole is replaced: PostgreSQL
 * rejects a JSON text with half of one.
 */
export function shortened(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : text.slice(0, lengthMax).toWellFormed();
}

/**
 * Throws INVALID_REQUEST unless the path is empty, or absolute without `..`. Container engines accept no other path.
 */
export function checkPath(field: string, path: string): void {
  checkText(field, path);
  if (path !== '' && (!path.startsWith('/') || path.split('/').includes('..'))) {
    throw invalid(
      `${field} is ${JSON.stringify(path.slice(0, 64))}, but must be a path from the root without ` +
        '"..", like /workspace',
    );
  }
}

/** Returns an INVALID_REQUEST error. */
export function invalid(message: string): DomainError {
  return new DomainError('INVALID_REQUEST', message);
}

/** Returns the field's name in the contract. */
export function snake(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Returns the names of the fields that are not empty, as in the contract: the fields that a creation has set. */
export function filledFields(settings: object): string[] {
  const isEmpty = (value: unknown): boolean => !value || (typeof value === 'object' && Object.keys(value).length === 0);
  return Object.entries(settings)
    .filter(([, value]) => !isEmpty(value))
    .map(([field]) => snake(field));
}

/** Rule of one setting of a resource. */
export interface SettingRule<Value> {
  /**
   * Default value. Absent: the setting is required, or comes from elsewhere, like an endpoint's name from its template.
   */
  default?: Value;
  /** Bounds of a number, both inclusive. */
  min?: number;
  max?: number;
  /**
   * True if a pod's template or an endpoint's type may give another default. The default applies only where none does,
   * so clients must not fill it in.
   */
  conditional?: true;
  /**
   * True if the setting can change without replacing workers (docs/reference/management.md#endpoints). A change of any
   * other setting raises the version.
   */
  inPlace?: true;
}

/**
 * Checks the numbers that have bounds. Throws INVALID_REQUEST with the field, its bounds and the value at the first
 * invalid one.
 */
export function checkBounds<Settings extends object>(
  settings: Settings,
  rules: { readonly [Name in keyof Settings]?: SettingRule<Settings[Name]> },
): void {
  for (const [field, { min, max }] of Object.entries(rules) as [string, SettingRule<unknown>][]) {
    if (min === undefined || max === undefined) continue;
    const value = settings[field as keyof Settings] as number;
    if (!Number.isInteger(value) || value < min || value > max) {
      throw invalid(`${snake(field)} is ${value}, but must be a whole number from ${min} to ${max}`);
    }
  }
}
