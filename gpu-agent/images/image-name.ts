/**
 * Expands image names as people write them: `ollama/ollama` is `docker.io/ollama/ollama:latest` to every engine. Pure.
 */

/** Parts of an image name. */
export interface ImageName {
  /** Registry and path, for instance `docker.io/library/debian`. */
  repository: string;
  /** Host of the registry with its port; `localhost` for images that were built on this machine. */
  registry: string;
  /** Empty if there is no tag; then there is a digest. */
  tag: string;
  /** `sha256:…`, or empty. */
  digest: string;
}

const DIGEST = /^sha256:[0-9a-f]{64}$/;
const TAG = /^\w[\w.-]{0,127}$/;
const REPOSITORY = /^[a-zA-Z0-9][a-zA-Z0-9.-]*(:\d+)?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)+$/;

/** Parses a name. `undefined` if no image can have it. */
export function parseImageName(text: string): ImageName | undefined {
  const [named = '', digest = ''] = text.split('@');
  const colon = named.lastIndexOf(':');
  const hasTag = colon > named.lastIndexOf('/');
  const defaultTag = digest === '' ? 'latest' : '';
  const tag = hasTag ? named.slice(colon + 1) : defaultTag;
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

/** Returns the reference to pass to an engine: by digest if there is one. */
export function fullName({ repository, tag, digest }: ImageName): string {
  return digest === '' ? `${repository}:${tag}` : `${repository}@${digest}`;
}

/** Completes a path. Its first part is a registry if it looks like a host. */
function inFull(path: string): string {
  const [first = '', ...rest] = path.split('/');
  if (rest.length > 0 && (/[.:]/.test(first) || first === 'localhost')) return path;
  return rest.length === 0 ? `docker.io/library/${path}` : `docker.io/${path}`;
}
