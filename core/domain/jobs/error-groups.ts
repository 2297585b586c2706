/** Groups errors of failed jobs by what they have in common. Pure. Reads a bounded part of each text, once. */
import { createHash } from 'node:crypto';
import { invalid } from '../settings/fields.ts';

/** Parts of an error: all of it, or its beginning and its end. */
export interface ErrorParts {
  head: string;
  /** Empty: `head` is the whole error. */
  tail: string;
}

/** A job that failed or timed out. */
export interface FailedJob {
  id: string;
  state: string;
  finishedAtMs: number;
  /** `undefined` if the job has none. */
  error: ErrorParts | undefined;
}

/** Jobs whose errors differ in numbers and ids only. */
export interface ErrorGroup {
  id: string;
  text: string;
  jobs: number;
  firstMs: number;
  lastMs: number;
  jobIds: string[];
  sample: string;
}

/**
 * Longest error that is read as a whole, in characters. Of a longer one, this many characters of its beginning and of
 * its end are read.
 */
export const ERROR_WHOLE_MAX = 8_192;
export const ERROR_HEAD = 4_096;
export const ERROR_TAIL = 2_048;

const MINUTE_MS = 60_000;
const SPAN_MS_DEFAULT = 24 * 60 * MINUTE_MS;
/** No job lives longer. */
const SPAN_MS_MAX = 7 * SPAN_MS_DEFAULT;
const MESSAGE_MAX = 2_000;
const TEXT_MAX = 500;
const SAMPLE_MAX = 4_096;
/** Characters shown of the beginning of a long sample. */
const SAMPLE_HEAD = 1_000;
const IDS_MAX = 10;
/** Most groups returned. */
const GROUPS_MAX = 100;
/** Characters of all samples that are held. */
const SAMPLES_MAX = 1_000 * SAMPLE_MAX;

const ESCAPE = /\u001b\[[\d;?]*[A-Za-z]/g;
const UUID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}(?:-u1)?/gi;
const ADDRESS = /\b0x[\da-f]+/gi;
const WORD = /[A-Za-z\d]+/g;
/** Matches what remains of 3.5, 10.0.0.1:80 and 12:30:01 after digits are replaced. */
const NUMBERS = /#(?:[.,:]?#)+/g;
const ID_LENGTH_MIN = 8;
/** An id changes between letters and digits more often than a name such as `encoder12`. */
const ID_CHANGES_MIN = 3;

/** Returns the covered time span in milliseconds; 0 becomes a day. Throws INVALID_REQUEST if it is out of range. */
export function errorSpanMs(spanMs: number): number {
  if (spanMs === 0) return SPAN_MS_DEFAULT;
  if (!(spanMs >= MINUTE_MS && spanMs <= SPAN_MS_MAX))
    throw invalid(`span_ms is ${spanMs}, but must be from ${MINUTE_MS} to ${SPAN_MS_MAX}`);
  return spanMs;
}

/** Returns the parts of an error that are read. */
export function errorParts(error: string): ErrorParts {
  if (error.length <= ERROR_WHOLE_MAX) return { head: error, tail: '' };
  return { head: error.slice(0, ERROR_HEAD), tail: error.slice(-ERROR_TAIL) };
}

/**
 * Returns the message of an error and its sample text. SDKs report a JSON object of type, message and traceback as
 * one text, or the last two as lines.
 */
export function readError({ head, tail }: ErrorParts): { message: string; sample: string } {
  const { message, whole } = (head.startsWith('{') ? ofObject(head, tail) : undefined) ?? ofLines(head, tail);
  const sample =
    whole.length <= SAMPLE_MAX
      ? whole
      : `${whole.slice(0, SAMPLE_HEAD)}\n…\n${whole.slice(SAMPLE_HEAD + 3 - SAMPLE_MAX)}`;
  return { message: message.slice(0, MESSAGE_MAX), sample };
}

/** Returns the message without variable parts, as messages of a group share it. */
export function sharedText(message: string): string {
  const plain = message.slice(0, MESSAGE_MAX).replaceAll(ESCAPE, '').replaceAll(UUID, '#').replaceAll(ADDRESS, '#');
  const words = plain.replaceAll(WORD, (word) => (isIdentifier(word) ? '#' : word.replaceAll(/\d+/g, '#')));
  return words.replaceAll(NUMBERS, '#').trim().slice(0, TEXT_MAX);
}

/** Returns the id of a group, computed from its text. */
export function errorGroupId(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** Returns the text that identifies a job's group, and a sample. */
export function errorTextOf({ state, error }: Pick<FailedJob, 'state' | 'error'>): { text: string; sample: string } {
  if (!error || error.head.trim() === '') return { text: state, sample: state };
  const { message, sample } = readError(error);
  return { text: sharedText(message) || state, sample };
}

/** Returns whether a job belongs to a group. */
export function isOfGroup(job: Pick<FailedJob, 'state' | 'error'>, groupId: string): boolean {
  return errorGroupId(errorTextOf(job).text) === groupId;
}

/** Returns whether a text has the form of a group id. */
export function isGroupId(id: string): boolean {
  return /^[\da-f]{16}$/.test(id);
}

/** Checks the id of a group. Empty: all groups. `name`: the field's name. Throws INVALID_REQUEST if it is malformed. */
export function checkGroupId(id: string, name: string): void {
  if (id !== '' && !isGroupId(id)) throw invalid(`${name} must be 16 hexadecimal digits, as a list of errors has them`);
}

/** Groups jobs, which must be added newest first. Either all groups, or one group with the ids of all its jobs. */
export class ErrorGroups {
  readonly #only: string;
  readonly #groups = new Map<string, Omit<ErrorGroup, 'id'>>();
  #samplesLeft = SAMPLES_MAX;
  #jobs = 0;

  /** `only`: id of the requested group. Empty: all. */
  constructor(only = '') {
    this.#only = only;
  }

  add(job: FailedJob): void {
    const { text, sample } = errorTextOf(job);
    const group = this.#groups.get(text) ?? this.#open(text, sample, job.finishedAtMs);
    group.jobs += 1;
    group.firstMs = Math.min(group.firstMs, job.finishedAtMs);
    group.lastMs = Math.max(group.lastMs, job.finishedAtMs);
    if (this.#only !== '' || group.jobIds.length < IDS_MAX) group.jobIds.push(job.id);
    this.#jobs += 1;
  }

  /** Returns the groups, largest first. */
  list(): { groups: ErrorGroup[]; groupCount: number; jobs: number } {
    const most = [...this.#groups.values()].sort((a, b) => b.jobs - a.jobs || b.lastMs - a.lastMs);
    const all = { groupCount: this.#groups.size, jobs: this.#jobs };
    if (this.#only === '') return { groups: most.slice(0, GROUPS_MAX).map(named), ...all };
    const wanted = most.find(({ text }) => errorGroupId(text) === this.#only);
    return { groups: wanted ? [named(wanted)] : [], ...all };
  }

  #open(text: string, sample: string, atMs: number): Omit<ErrorGroup, 'id'> {
    // Ten thousand errors that have nothing in common must not all be held in memory.
    const held = sample.length <= this.#samplesLeft ? sample : text;
    this.#samplesLeft = Math.max(0, this.#samplesLeft - sample.length);
    const group = { text, jobs: 0, firstMs: atMs, lastMs: atMs, jobIds: [], sample: held };
    this.#groups.set(text, group);
    return group;
  }
}

function named(group: Omit<ErrorGroup, 'id'>): ErrorGroup {
  return { id: errorGroupId(group.text), ...group };
}

function ofObject(head: string, tail: string): { message: string; whole: string } | undefined {
  const { type, message, trace } =
    tail === ''
      ? membersOf(head)
      : { type: member(head, 'error_type'), message: member(head, 'error_message'), trace: '' };
  if (typeof message !== 'string') return undefined;
  const summary = typeof type === 'string' && type !== '' ? `${type}: ${message}` : message;
  return { message: summary, whole: typeof trace === 'string' && trace !== '' ? trace : summary };
}

function membersOf(text: string): { type?: unknown; message?: unknown; trace?: unknown } {
  try {
    const {
      error_type: type,
      error_message: message,
      error_traceback: trace,
    } = JSON.parse(text) as Record<string, unknown>;
    return { type, message, trace };
  } catch {
    return {};
  }
}

/** Returns a text field of a truncated JSON object, cut where the object is cut. */
function member(head: string, name: string): string | undefined {
  const at = head.indexOf(`"${name}"`);
  if (at < 0) return undefined;
  const [, written] = /^\s*:\s*"((?:[^"\\]|\\.)*)/s.exec(head.slice(at + name.length + 2)) ?? [];
  if (written === undefined) return undefined;
  try {
    return JSON.parse(`"${written}"`) as string;
  } catch {
    // The text ends within an escape sequence.
    return written;
  }
}

function ofLines(head: string, tail: string): { message: string; whole: string } {
  const whole = tail === '' ? head : `${head}\n…\n${tail}`;
  const at = head.startsWith('handler: ') ? head.indexOf('\ntraceback: ') : -1;
  if (at >= 0) {
    const message = head.slice('handler: '.length, at).trimEnd();
    return { message, whole: whole.slice(at + '\ntraceback: '.length).trim() || message };
  }
  const lines = (tail || head).split('\n');
  return { message: lines.findLast((line) => line.trim() !== '') ?? head, whole };
}

function isIdentifier(word: string): boolean {
  if (word.length < ID_LENGTH_MIN) return false;
  if (/^[\da-f]+$/i.test(word)) return true;
  return (word.match(/[a-z](?=\d)|\d(?=[a-z])/gi)?.length ?? 0) >= ID_CHANGES_MIN;
}
