/** References of endpoints to models: Hugging Face repositories that their workers find on the machine. Pure. */
import { invalid } from '../settings/fields.ts';

/** Most models of an endpoint. */
const REFERENCES_MAX = 10;
/** Longest reference in characters, as an owner gives it. */
const REFERENCE_LENGTH_MAX = 512;
/** Revision that a reference without one means. */
export const DEFAULT_REVISION = 'main';

/** A revision of a repository. */
export interface ModelReference {
  /** `org/name`. */
  repository: string;
  /** Branch, tag or commit. */
  revision: string;
}

/** Names of the hub. `--` separates the parts in the names of its cache's folders. */
const PART = '[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?';
const REPOSITORY = new RegExp(`^${PART}/${PART}$`);
const REVISION = /^[A-Za-z0-9_](?:[A-Za-z0-9._/-]{0,198}[A-Za-z0-9_-])?$/;
const HUB_ADDRESS = /^https?:\/\/(?:www\.)?(?:huggingface\.co|hf\.co)\//i;
const IN_HUB_ADDRESS = /^(?<repository>[^/]+\/[^/:@]+)(?:\/tree\/(?<tree>.+)|[:@](?<revision>.+))?$/;
const PLAIN = /^(?<repository>[^:@]+)(?:[:@](?<revision>.+))?$/;

/**
 * Returns the references of an endpoint in the form in which they are stored: `org/name`, or `org/name:revision`.
 * Throws INVALID_REQUEST if one is malformed or named twice, or if there are too many.
 */
export function storedReferences(given: readonly string[]): string[] {
  if (given.length > REFERENCES_MAX)
    throw invalid(`model_references has ${given.length} entries, but may have ${REFERENCES_MAX}`);
  const stored = given.map((text) => referenceText(parseReference(text)));
  if (new Set(stored).size < stored.length) throw invalid('model_references names one twice');
  return stored;
}

/** Returns a stored reference as its parts. */
export function referenceOf(stored: string): ModelReference {
  const [repository = '', revision = DEFAULT_REVISION] = stored.split(':');
  return { repository, revision };
}

/** Returns a reference in the form in which it is stored. */
export function referenceText({ repository, revision }: ModelReference): string {
  return revision === DEFAULT_REVISION ? repository : `${repository}:${revision}`;
}

/** Returns true if this can be the name of a repository. */
export function isRepository(text: string): boolean {
  return REPOSITORY.test(text) && !/--|\.\.|\.git$/.test(text);
}

/** Returns true if this can be the name of a revision. */
export function isRevision(text: string): boolean {
  return REVISION.test(text) && !/\.\.|\/\/|\/\.|\.(?:\/|$)/.test(text);
}

function parseReference(given: string): ModelReference {
  const text = given.trim();
  if (given.length > REFERENCE_LENGTH_MAX) throw malformed(given, `is longer than ${REFERENCE_LENGTH_MAX} characters`);
  const address = HUB_ADDRESS.exec(text)?.[0];
  if (address === undefined && text.includes('://'))
    throw malformed(given, 'is no address of https://huggingface.co; a mirror is set by the operator');
  const rest = (address === undefined ? text : text.slice(address.length)).replace(/\/+$/, '');
  const { repository = '', tree, revision } = (address === undefined ? PLAIN : IN_HUB_ADDRESS).exec(rest)?.groups ?? {};
  if (!isRepository(repository)) throw malformed(given, 'names no model repository');
  const chosen = tree ?? revision ?? DEFAULT_REVISION;
  if (!isRevision(chosen)) throw malformed(given, 'names no branch, tag or commit');
  return { repository, revision: chosen };
}

function malformed(given: string, what: string): Error {
  return invalid(
    `model_references: ${JSON.stringify(given.slice(0, 128))} ${what}; name a Hugging Face model as org/name, ` +
      'org/name:revision or https://huggingface.co/org/name',
  );
}
