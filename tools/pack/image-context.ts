/**
 * Makes the folder that an image is built from: the published form of its packages, what these need from npm as this
 * project has it installed, and the command in `bin`. No registry is asked, and nothing else of the project is in it.
 */
import { cpSync, existsSync, globSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import { readManifest, stagePackage } from './stage-package.ts';

/** Packages of each image. */
export const IMAGES: Readonly<Record<string, readonly string[]>> = {
  core: ['cli', 'core'],
  facade: ['cli', 'facades'],
  edge: ['cli', 'edge'],
  // JavaScript handlers in the image find `slipway-worker`.
  agent: ['cli', 'gpu-agent', 'worker'],
  slipway: ['cli', 'core', 'facades', 'gpu-agent', 'dev'],
};
/** The pinned Node, because the base of the image has one, and types, which no program reads. */
const LEFT_OUT = /^(node|@types\/.*|undici-types)$/;

/** Programs of the images themselves, from deploy/images. */
const SCRIPTS = ['healthcheck.mjs', 'first-run.mjs', 'hello.mjs'];
/** Folders of packages that no program reads. The packages inside are copied by themselves. */
const NOT_SHIPPED = /\/(node_modules|tests?|examples?|benchmarks?|\.github)(\/|$)/;
/** Files of packages that no program reads: types, maps of sources, tests beside them. */
const NOT_RUN = '**/*.{ts,cts,mts,map,test.js}';

/** Makes the context of an image in the empty folder `out`. `staged`: packages that were made before, by folder. */
export async function makeContext(
  root: string,
  image: string,
  out: string,
  staged = new Map<string, string>(),
): Promise<void> {
  const modules = join(out, 'slipway/node_modules');
  for (const folder of IMAGES[image]!) {
    const home = join(modules, readManifest(join(root, folder)).name);
    mkdirSync(home, { recursive: true });
    const made = staged.get(folder);
    if (made === undefined) await stagePackage(root, folder, home, { types: false });
    else cpSync(made, home, { recursive: true, verbatimSymlinks: true });
    const {
      dependencies = {},
      optionalDependencies = {},
      bundleDependencies = [],
    } = readManifest(home) as StagedManifest;
    const needed = Object.keys({ ...dependencies, ...optionalDependencies }).filter(
      (name) => !bundleDependencies.includes(name),
    );
    for (const name of needed) copyInstalled(join(root, 'package.json'), name, modules);
  }
  for (const file of globSync(NOT_RUN, { cwd: out })) rmSync(join(out, file));
  mkdirSync(join(out, 'slipway/bin'));
  symlinkSync('../node_modules/@slipway/cli/slipway', join(out, 'slipway/bin/slipway'));
  for (const script of SCRIPTS) cpSync(join(root, 'deploy/images', script), join(out, 'slipway', script));
}

interface StagedManifest {
  name: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  bundleDependencies?: string[];
}

/**
 * Copies a package that `from` can import, and what it needs itself, to the same places below `modules` as here. A
 * package for another platform is not installed here, and is left out.
 */
function copyInstalled(from: string, name: string, modules: string): void {
  if (LEFT_OUT.test(name)) return;
  const folder = installedFolder(from, name);
  if (folder === undefined) return;
  const to = join(modules, folder.slice(folder.indexOf(`${sep}node_modules${sep}`) + '/node_modules/'.length));
  if (existsSync(to)) return;
  cpSync(folder, to, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (file) => !NOT_SHIPPED.test(file.slice(folder.length)),
  });
  const { dependencies = {}, optionalDependencies = {} } = readManifest(folder) as StagedManifest;
  for (const each of Object.keys({ ...dependencies, ...optionalDependencies }))
    copyInstalled(join(folder, 'package.json'), each, modules);
}

/** Returns the folder in which Node finds a package for a file; `undefined` if it is not installed. */
function installedFolder(from: string, name: string): string | undefined {
  const folders = createRequire(from).resolve.paths(name) ?? [];
  return folders.map((each) => join(each, name)).find((each) => existsSync(join(each, 'package.json')));
}
