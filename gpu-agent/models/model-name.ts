/**
 * Names of models: a Hugging Face repository and a revision of it. They become parts of paths and addresses, so nothing
 * unchecked passes this file. Pure.
 */

/** `org/name`, or a bare name. The hub allows neither `--` nor `..`, so folder names below are unambiguous. */
const REPOSITORY = /^(?:[A-Za-z0-9_][\w.-]*\/)?[A-Za-z0-9_][\w.-]*$/;
const REPOSITORY_CHARS_MAX = 96;
const REVISION = /^[A-Za-z0-9_][\w.+@=/-]*$/;
const REVISION_CHARS_MAX = 255;
const COMMIT = /^[0-9a-f]{40}$/;
const SEGMENT_BYTES_MAX = 255;
const PATH_BYTES_MAX = 1_024;
const DEPTH_MAX = 32;
// Control characters and backslashes.
const UNSAFE = /[\u0000-\u001f\u007f\\]/;

/** A commit of a repository as one account may see it. */
export interface ModelKey {
  /** `org/name`. */
  repository: string;
  /** 40 hexadecimal digits. */
  commit: string;
  /** Account whose token it took; only its workers may get it. 0: public. */
  accountNumber: number;
}

/** Returns whether the text is a repository's name. */
export function isRepository(text: string): boolean {
  return (
    text.length <= REPOSITORY_CHARS_MAX &&
    REPOSITORY.test(text) &&
    !/--|\.\./.test(text) &&
    !/\.git$/.test(text) &&
    text.split('/').every((part) => !/[.-]$/.test(part))
  );
}

/** Returns whether the text can be a branch, tag or commit. */
export function isRevision(text: string): boolean {
  return (
    text.length <= REVISION_CHARS_MAX &&
    REVISION.test(text) &&
    text.split('/').every((part) => part !== '' && !/^\.|\.lock$/.test(part) && !part.includes('..'))
  );
}

/** Returns whether the text is a commit. */
export function isCommit(text: string): boolean {
  return COMMIT.test(text);
}

/** Returns whether a file of a repository can be stored under this path: relative, without a way out of its folder. */
export function isFilePath(path: string): boolean {
  const parts = path.split('/');
  return (
    Buffer.byteLength(path) <= PATH_BYTES_MAX &&
    parts.length <= DEPTH_MAX &&
    !UNSAFE.test(path) &&
    parts.every((part) => part !== '' && part !== '.' && part !== '..' && Buffer.byteLength(part) <= SEGMENT_BYTES_MAX)
  );
}

/** Returns the folder of a repository in the hub's cache layout, for instance `models--org--name`. */
export function cacheFolder(repository: string): string {
  return `models--${repository.replace('/', '--')}`;
}

/** Returns the name of the folder that holds one commit for one account, unique in the store. */
export function treeName({ repository, commit, accountNumber }: ModelKey): string {
  return `${cacheFolder(repository)}--${commit}${accountNumber === 0 ? '' : `--${accountNumber}`}`;
}

const TREE = /^models--(.+)--([0-9a-f]{40})(?:--([1-9]\d{0,9}))?$/;

/** Returns the key of such a folder. `undefined` if it is no folder of a model. */
export function keyOfName(name: string): ModelKey | undefined {
  const [, folder = '', commit = '', account = '0'] = TREE.exec(name) ?? [];
  const repository = folder.replace('--', '/');
  return isRepository(repository) ? { repository, commit, accountNumber: Number(account) } : undefined;
}
