/**
 * The release before this one, as a folder that runs: a commit of this repository with the packages of its lock file.
 * Made once for a commit, and kept in .slipway-test.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../../..');

/** Commit of the release from which an upgrade must work without interruption. Raise it after each release. */
export const PREVIOUS_COMMIT = 'afaa488f';

/** Returns whether this checkout has the commit. A shallow clone has not. */
export async function hasPreviousRelease(): Promise<boolean> {
  return run('git', ['cat-file', '-e', `${PREVIOUS_COMMIT}^{commit}`], { cwd: root }).then(
    () => true,
    () => false,
  );
}

/** Returns the folder of the previous release. */
export async function previousRelease(): Promise<string> {
  const folder = join(root, '.slipway-test', `release-${PREVIOUS_COMMIT}`);
  if (existsSync(folder)) return folder;
  const made = `${folder}.${process.pid}`;
  await mkdir(made, { recursive: true });
  await run('sh', ['-c', 'git archive "$1" | tar -x -C "$2"', 'sh', PREVIOUS_COMMIT, made], { cwd: root });
  if (await samePackages(made)) await run('cp', ['-al', join(root, 'node_modules'), join(made, 'node_modules')]);
  else await install(made);
  // The pages of the console, which a facade reads at its start. Nothing here looks at them.
  const pages = join(made, 'facades/console/.built');
  if (!existsSync(pages)) await cp(join(root, 'facades/console/.built'), pages, { recursive: true });
  await rename(made, folder).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    // Another test file was faster.
    await rm(made, { recursive: true });
  });
  return folder;
}

/**
 * Installs what the release runs with, and patches its driver. Its install scripts would also build its GraphQL, which
 * nothing here asks, and its console.
 */
async function install(folder: string): Promise<void> {
  await run('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder });
  await run(process.execPath, ['dev/install/patch-packages.ts'], { cwd: folder });
}

interface LockFile {
  packages: Record<string, { version?: string; link?: boolean; resolved?: string }>;
}

/** Returns whether all packages of the previous release are installed here in the same version. */
async function samePackages(previous: string): Promise<boolean> {
  const [theirs, ours] = await Promise.all(
    [previous, root].map(
      async (folder) => JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8')) as LockFile,
    ),
  );
  return Object.entries(theirs!.packages)
    .filter(([name, { link }]) => name.startsWith('node_modules/') && link !== true)
    .every(([name, { version }]) => ours!.packages[name]?.version === version);
}
