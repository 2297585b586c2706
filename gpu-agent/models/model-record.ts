/**
 * The record of a model: its files with their digests. It is the last file that is written into a model's folder, so a
 * model with a record is complete. Pure.
 */
import { isCommit, isFilePath, isRepository, isRevision } from './model-name.ts';

/** A file of a repository. */
export interface ModelFile {
  /** Path in the repository. */
  path: string;
  sizeBytes: number;
  /**
   * Digest of its content, which is also its entity tag and its name in the cache: sha256 (64 digits) for files in LFS,
   * Git's blob hash (40 digits) for others.
   */
  digest: string;
}

/** Everything that is known about a model that is complete. */
export interface ModelRecord {
  repository: string;
  commit: string;
  accountNumber: number;
  /** Requested revisions that mean this commit. */
  revisions: string[];
  files: ModelFile[];
  /** It was imported from a folder, and cannot be downloaded again. */
  imported: boolean;
}

/** Most files of a repository. */
export const FILES_MAX = 20_000;
/** Largest record or listing in bytes. */
export const RECORD_BYTES_MAX = 32 * 1024 * 1024;
const DIGEST = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const REVISIONS_MAX = 100;

/** Returns whether the text is the digest of a file. */
export function isDigest(text: string): boolean {
  return DIGEST.test(text);
}

/** Returns why these files cannot be stored together; `undefined` if they can. */
export function filesFault(files: readonly ModelFile[]): string | undefined {
  if (files.length === 0) return 'it has no files';
  if (files.length > FILES_MAX) return `it has more than ${FILES_MAX} files`;
  const folders = new Set<string>();
  for (const { path, sizeBytes, digest } of files) {
    if (!isFilePath(path)) return `${JSON.stringify(path).slice(0, 200)} cannot be the name of a file`;
    if (!isDigest(digest)) return `${path} has no digest`;
    if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0) return `${path} has no size`;
    const parts = path.split('/');
    for (let depth = 1; depth < parts.length; depth += 1) folders.add(parts.slice(0, depth).join('/'));
  }
  if (new Set(files.map(({ path }) => path)).size < files.length) return 'two of its files have one name';
  const both = files.find(({ path }) => folders.has(path));
  return both && `${both.path} is a file and a folder`;
}

/** Returns the sum of the sizes of all distinct contents, in bytes. */
export function sizeOf(files: readonly ModelFile[]): number {
  return contentsOf(files).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}

/** Returns one file for each distinct content. */
export function contentsOf(files: readonly ModelFile[]): ModelFile[] {
  return [...new Map(files.map((file) => [file.digest, file])).values()];
}

/** Reads a record. `undefined` if the text is none, or names something that cannot be stored. */
export function parseRecord(text: string): ModelRecord | undefined {
  try {
    const value = JSON.parse(text) as Partial<ModelRecord>;
    const { repository, commit, accountNumber, revisions, files, imported } = value;
    if (typeof repository !== 'string' || !isRepository(repository)) return undefined;
    if (typeof commit !== 'string' || !isCommit(commit)) return undefined;
    if (!Number.isSafeInteger(accountNumber) || !Array.isArray(revisions) || !Array.isArray(files)) return undefined;
    if (!revisions.every((each) => typeof each === 'string' && isRevision(each))) return undefined;
    if (!files.every(isFile) || filesFault(files) !== undefined) return undefined;
    const plain = files.map(({ path, sizeBytes, digest }) => ({ path, sizeBytes, digest }));
    return {
      repository,
      commit,
      accountNumber: accountNumber!,
      revisions: revisions.slice(0, REVISIONS_MAX),
      files: plain,
      imported: imported === true,
    };
  } catch {
    return undefined;
  }
}

function isFile(value: unknown): value is ModelFile {
  const { path, sizeBytes, digest } = (value ?? {}) as Partial<ModelFile>;
  return typeof path === 'string' && typeof sizeBytes === 'number' && typeof digest === 'string';
}

/** Returns a record with one more revision that means its commit. */
export function withRevision(record: ModelRecord, revision: string): ModelRecord {
  if (record.revisions.includes(revision) || revision === record.commit) return record;
  return { ...record, revisions: [...record.revisions, revision].slice(-REVISIONS_MAX) };
}
