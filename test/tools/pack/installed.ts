/** Packs packages of this repository and installs them as a user would. */
import { execFile } from 'node:child_process';
import { globSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const root = join(import.meta.dirname, '../../..');
const run = promisify(execFile);
const QUIET = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
const MIB = 1024 * 1024;
/** Variables that npm sets for the programs it runs. With them, another npm would work in the project's folder. */
const OF_NPM = ['npm_config_local_prefix', 'npm_config_workspace', 'npm_config_workspaces', 'npm_config_omit'];

/** Runs npm in a folder and returns its output. Rejects with `stderr` when it fails. */
export async function npm(folder: string, ...args: string[]): Promise<string> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OF_NPM.includes(name)));
  return (await run('npm', args, { cwd: folder, env })).stdout;
}

/** Packs packages into `out`. Returns the tarball of each by its folder. */
export async function pack(out: string, ...folders: string[]): Promise<Map<string, string>> {
  await run(process.execPath, ['--no-warnings', join(root, 'tools/pack/pack.ts'), ...folders, '--out', out]);
  return new Map(folders.map((folder) => [folder, globSync(join(out, `slipway-${folder}-*.tgz`))[0]!]));
}

/** Installs a tarball into a new folder. `scripts`: those of packages run, like the one that brings the pinned Node. */
export async function install(folder: string, tarball: string, { scripts = false } = {}): Promise<void> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{}\n');
  await npm(folder, 'install', ...QUIET, ...(scripts ? [] : ['--ignore-scripts']), tarball);
}

/** Installs more tarballs into a folder, without programs for this platform such as PostgreSQL. */
export async function addTo(folder: string, ...tarballs: string[]): Promise<void> {
  await npm(folder, 'install', ...QUIET, '--ignore-scripts', '--omit=optional', ...tarballs);
}

/** Returns how many packages a folder has and their size in MiB, without the pinned Node. */
export function sizeOf(folder: string): { packages: number; mib: number } {
  const modules = join(folder, 'node_modules');
  const ofNode = (file: string): boolean => /^node(-bin-setup)?(\/|$)/.test(file);
  const files = globSync('**/*', { cwd: modules }).filter((file) => !ofNode(file));
  const manifests = files.filter((file) => /(^|node_modules\/)(@[^/]+\/)?[^@/][^/]*\/package\.json$/.test(file));
  const bytes = files.map((file) => lstatSync(join(modules, file))).map((stat) => (stat.isFile() ? stat.size : 0));
  return { packages: manifests.length, mib: bytes.reduce((sum, each) => sum + each, 0) / MIB };
}

/** Returns the output of a program. `env` overrides this process's environment. */
export async function output(file: string, args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  return (await run(process.execPath, [file, ...args], { env: { ...process.env, ...env } })).stdout;
}

/** Reads a package.json below a folder's node_modules. */
export function manifestOf(folder: string, name: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')) as Record<
    string,
    unknown
  >;
}
