/**
 * Names of images as people write them, in full: `ollama/ollama` is `docker.io/ollama/ollama:latest` to every engine.
 * Pure.
 */

/** The parts of a name. */
export interface ImageName {
  /** Registry and path, for instance `docker.io/library/debian`. */
  repository: string;
  /** Host of the registry with its port; `localhost` for what was made on this machine. */
  registry: string;
  /** Empty: none; then there is a digest. */
  tag: string;
  /** `sha256:…`, or empty. */
  digest: string;
}

const DIGEST = /^sha256:[0-9a-f]{64}$/;
const TAG = /^\w[\w.-]{0,127}$/;
const REPOSITORY = /^[a-zA-Z0-9][a-zA-Z0-9.-]*(:\d+)?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)+$/;

/** Undefined: no image can be called so. */
export function parseImageName(text: string): ImageName | undefined {
  const [named = '', digest = ''] = text.split('@');
  const colon = named.lastIndexOf(':');
  const hasTag = colon > named.lastIndexOf('/');
  const tag = hasTag ? named.slice(colon + 1) : digest === '' ? 'latest' : '';
  const repository = inFull(hasTag ? named.slice(0, colon) : named);
  if (
    text.split('@').length > 2 ||
    (text.includes('@') && !DIGEST.test(digest)) ||
    (tag === '' ? digest === '' : !TAG.test(tag))
  )
    return undefined;
  if (!REPOSITORY.test(repository)) return undefined;
  return { repository, registry: repository.split('/')[0]!, tag: digest === '' ? tag : '', digest };
}

/** What an engine is asked for: by digest when there is one. */
export function fullName({ repository, tag, digest }: ImageName): string {
  return digest === '' ? `${repository}:${tag}` : `${repository}@${digest}`;
}

/** The first part is a registry when it looks like a host. */
function inFull(path: string): string {
  const [first = '', ...rest] = path.split('/');
  if (rest.length > 0 && (/[.:]/.test(first) || first === 'localhost')) return path;
  return rest.length === 0 ? `docker.io/library/${path}` : `docker.io/${path}`;
}
