/** Finds the models in a folder: a hub's cache as its clients keep it, or the files of one snapshot. */
import { createHash } from 'node:crypto';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { cacheFolder, isCommit, isRepository, isRevision } from '../model-name.ts';
import { isDigest } from '../model-record.ts';

/** A file to import. */
export interface FoundFile {
  /** Path in the repository. */
  path: string;
  /** Its content on this machine. */
  source: string;
  sizeBytes: number;
  /** Digest that its cache names. `undefined` if it has to be computed. */
  digest: string | undefined;
}

/** A model to import. */
export interface FoundModel {
  repository: string;
  revisions: string[];
  commit: string;
  files: FoundFile[];
}

/** The folder cannot be imported; the text says what to do. */
export class FolderError extends Error {}

const CACHED = /^models--(.+)$/;
/** Folders that downloading programs leave beside the files. */
const OTHERS = new Set(['.cache', '.git']);

/**
 * Returns the models in a folder: a hub's cache (`hub`, or the folder above it), one repository of it, or one snapshot,
 * for which `repository` and `revision` are needed. Throws FolderError.
 */
export async function findModels(
  folder: string,
  { repository, revision }: { repository?: string | undefined; revision?: string | undefined },
): Promise<FoundModel[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    throw new FolderError(`${folder} cannot be read (${error.message}).`);
  });
  if (CACHED.test(basename(folder)) && names.includes('snapshots')) return fromRepository(folder);
  const cached = names.filter((name) => CACHED.test(name));
  if (cached.length > 0) {
    const wanted = repository === undefined ? cached : cached.filter((name) => name === cacheFolder(repository));
    if (wanted.length === 0) throw new FolderError(`${folder} has no model ${repository}, but ${cached.join(', ')}.`);
    return (await Promise.all(wanted.map((name) => fromRepository(join(folder, name))))).flat();
  }
  if (names.includes('hub')) return findModels(join(folder, 'hub'), { repository, revision });
  if (repository === undefined || revision === undefined || !isRepository(repository) || !isRevision(revision))
    throw new FolderError(
      `${folder} is no cache of the hub. If it holds the files of one model, say of which: ` +
        '--repo ORG/NAME --revision main',
    );
  return [await fromSnapshot(folder, repository, revision)];
}

/** Returns the commits of one repository in a cache that have files. */
async function fromRepository(folder: string): Promise<FoundModel[]> {
  const repository = CACHED.exec(basename(folder))![1]!.replace('--', '/');
  if (!isRepository(repository)) throw new FolderError(`${folder} does not have the name of a repository.`);
  const top = await realpath(folder);
  const revisions = await refsOf(join(folder, 'refs'));
  const models: FoundModel[] = [];
  for (const commit of (await readdir(join(folder, 'snapshots'))).filter(isCommit)) {
    const files = await filesBelow(join(folder, 'snapshots', commit), top);
    const named = [...revisions].flatMap(([revision, of]) => (of === commit && isRevision(revision) ? [revision] : []));
    if (files.length > 0) models.push({ repository, commit, revisions: named, files });
  }
  if (models.length === 0) throw new FolderError(`${folder} has no snapshot with files.`);
  return models;
}

async function fromSnapshot(folder: string, repository: string, revision: string): Promise<FoundModel> {
  const files = await filesBelow(folder, await realpath(folder));
  if (files.length === 0) throw new FolderError(`${folder} has no files.`);
  const commit = isCommit(revision) ? revision : ((await downloadedCommit(folder)) ?? commitOf(files));
  return { repository, commit, revisions: revision === commit ? [] : [revision], files };
}

/** Returns the names of revisions with their commits. */
async function refsOf(folder: string): Promise<Map<string, string>> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const read = names.map(
    async (name): Promise<[string, string]> => [
      name,
      (await readFile(join(folder, name), 'utf8').catch(() => '')).trim(),
    ],
  );
  return new Map(await Promise.all(read));
}

/** Returns all files below a folder. Links may lead only to places below `top`. */
async function filesBelow(folder: string, top: string, prefix = ''): Promise<FoundFile[]> {
  const entries = await readdir(join(folder, prefix), { withFileTypes: true });
  const found: FoundFile[] = [];
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const path = prefix === '' ? entry.name : `${prefix}/${entry.name}`;
    if (prefix === '' && OTHERS.has(entry.name)) continue;
    if (entry.isDirectory()) {
      found.push(...(await filesBelow(folder, top, path)));
      continue;
    }
    const source = await realpath(join(folder, path)).catch(() => '');
    if (!source.startsWith(`${top}/`)) throw new FolderError(`${path} leads nowhere, or out of ${top}.`);
    const { size, isFile } = await stat(source).then((stats) => ({ size: stats.size, isFile: stats.isFile() }));
    if (!isFile) throw new FolderError(`${path} is no file.`);
    const name = basename(source);
    found.push({ path, source, sizeBytes: size, digest: entry.isSymbolicLink() && isDigest(name) ? name : undefined });
  }
  return found;
}

/** Returns the commit that the hub's client noted beside the files; `undefined` if there is no single one. */
async function downloadedCommit(folder: string): Promise<string | undefined> {
  const notes = join(folder, '.cache/huggingface/download');
  const names = (await readdir(notes, { recursive: true }).catch(() => [])).filter((name) =>
    name.endsWith('.metadata'),
  );
  const read = names.map(async (name) => (await readFile(join(notes, name), 'utf8')).split('\n')[0]!.trim());
  const commits = new Set(await Promise.all(read));
  const [commit] = commits;
  return commits.size === 1 && isCommit(commit!) ? commit : undefined;
}

/** Makes a commit for files that came from no hub: the same for the same names and sizes. */
function commitOf(files: readonly FoundFile[]): string {
  const hash = createHash('sha1').update('files without a commit\n');
  for (const { path, sizeBytes } of files) hash.update(`${path}\0${sizeBytes}\n`);
  return hash.digest('hex');
}
