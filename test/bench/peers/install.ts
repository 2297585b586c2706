/** The job queues that Slipway is raced against: installed into a folder of their own, so that nothing of them is a dependency of the project. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '../../../.slipway-test/peers');
/** Exact releases: figures of another one are another figure. */
const PACKAGES = {
  bullmq: '6.7.0', ioredis: '6.0.0', 'pg-boss': '12.38.0', 'graphile-worker': '0.18.0',
  '@restatedev/restate-server': '1.7.12', '@restatedev/restate-sdk': '1.17.2',
} as const;

export type PeerPackage = keyof typeof PACKAGES;

/** Installs what is missing. Throws with npm's words when it cannot. */
export function installPeers(say: (text: string) => void): void {
  const wanted = JSON.stringify({ private: true, dependencies: PACKAGES });
  const file = join(FOLDER, 'package.json');
  if (existsSync(file) && readFileSync(file, 'utf8') === wanted && existsSync(join(FOLDER, 'node_modules'))) return;
  say(`installing ${Object.entries(PACKAGES).map((parts) => parts.join(' ')).join(', ')}`);
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(file, wanted);
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'], { cwd: FOLDER, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** One of them; its types are those that the caller names, because nobody who only builds Slipway has it. */
export function loadPeer<Module>(name: PeerPackage): Module {
  return createRequire(join(FOLDER, 'package.json'))(name) as Module;
}

/** The program of a package that brings one; undefined: it has none for this kind of machine. */
export function programOf(name: PeerPackage, program: string): string | undefined {
  const platform = join(FOLDER, 'node_modules', `${name}-${process.platform}-${process.arch}`, 'bin', program);
  return existsSync(platform) ? platform : undefined;
}

/** For the report. */
export function versionOf(name: PeerPackage): string {
  return PACKAGES[name];
}
