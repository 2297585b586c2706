/**
 * Installs the job queues that Slipway is raced against. They have a folder of their own, so that none of them becomes
 * a dependency of the project.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '../../../.slipway-test/peers');
/** Exact releases. Figures of another release would be different figures. */
const PACKAGES = {
  bullmq: '6.7.0',
  ioredis: '6.0.0',
  'pg-boss': '12.38.0',
  'graphile-worker': '0.18.0',
  '@restatedev/restate-server': '1.7.12',
  '@restatedev/restate-sdk': '1.17.2',
} as const;

export type PeerPackage = keyof typeof PACKAGES;

/** Installs the peers' missing packages. Returns the packages that cannot be installed, with npm's messages. */
export function installPeers(say: (text: string) => void): Map<PeerPackage, string> {
  return installAll(FOLDER, PACKAGES, say) as Map<PeerPackage, string>;
}

/** Installs packages into a folder, by name and version. If some cannot be installed, installs the others. */
export function installAll(
  folder: string,
  packages: Readonly<Record<string, string>>,
  say: (text: string) => void,
): Map<string, string> {
  const missing = new Map<string, string>();
  const file = join(folder, 'package.json');
  if (
    existsSync(file) &&
    readFileSync(file, 'utf8') === packageText(packages) &&
    existsSync(join(folder, 'node_modules'))
  )
    return missing;
  say(
    `installing ${Object.entries(packages)
      .map((parts) => parts.join(' '))
      .join(', ')}`,
  );
  mkdirSync(folder, { recursive: true });
  if (install(folder, packages) === undefined) return missing;
  const had: Record<string, string> = {};
  for (const [name, version] of Object.entries(packages)) {
    const why = install(folder, { ...had, [name]: version });
    if (why === undefined) had[name] = version;
    else missing.set(name, why);
  }
  // Records only what was installed, so that the next run tries the others again.
  writeFileSync(file, packageText(had));
  return missing;
}

function packageText(dependencies: object): string {
  return JSON.stringify({ private: true, dependencies });
}

/** Installs packages. `undefined` if it succeeded, else the reason why not. */
function install(folder: string, dependencies: object): string | undefined {
  writeFileSync(join(folder, 'package.json'), packageText(dependencies));
  try {
    const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
    execFileSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
    return undefined;
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: Buffer };
    return (stderr?.toString().trim() || message).split('\n')[0];
  }
}

/** Loads a package. The caller names its types, because a build of Slipway does not have the package. */
export function loadPeer<Module>(name: PeerPackage): Module {
  return createRequire(join(FOLDER, 'package.json'))(name) as Module;
}

/** Returns the path of a program in a package; `undefined` if the package has none for this platform. */
export function programOf(name: PeerPackage, program: string): string | undefined {
  const platform = join(FOLDER, 'node_modules', `${name}-${process.platform}-${process.arch}`, 'bin', program);
  return existsSync(platform) ? platform : undefined;
}

/** Returns the version of a package, for the report. */
export function versionOf(name: PeerPackage): string {
  return PACKAGES[name];
}
