/**
 * Writes a package as it is published: JavaScript instead of TypeScript, and below node_modules what it bundles, which
 * is the other packages of this repository that it uses, and patched copies of the packages that we patch.
 */
import { chmodSync, cpSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { packageGraph } from './package-graph.ts';

/** Fields of a package.json that are used here. */
export interface Manifest {
  name: string;
  version: string;
  description: string;
  license: string;
  workspaces?: string[];
  bin?: Record<string, string>;
  exports?: Record<string, string>;
  engines?: Record<string, string>;
  dependencies?: Record<string, string>;
  /** Files beside the modules, as globs. */
  files?: string[];
}

/** Packages that are published as we patch them: an installation from a registry runs no patch of ours. */
const PATCHED = ['postgres', 'drizzle-orm'];
/** Our own packages that nothing imports: whoever wants them installs them. */
const FOLDERS_WITHOUT_MODULES = ['examples/ocr', 'facades/graphql/core-grpc'];

/** Result of a staging. */
export interface StagedPackage {
  manifest: Manifest & { bundleDependencies: string[] };
  /** Modules that were written. */
  modules: number;
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

/** Returns the folder of each package of the repository by its name. */
export function packageFolders(root: string): Map<string, string> {
  const folders = readManifest(root).workspaces!.filter((folder) => !FOLDERS_WITHOUT_MODULES.includes(folder));
  return new Map(folders.map((folder) => [readManifest(join(root, folder)).name, folder]));
}

/** Writes the package of `folder` into the empty folder `out`. */
export function stagePackage(root: string, folder: string, out: string): StagedPackage {
  const folders = packageFolders(root);
  const { modules, external } = packageGraph(root, folder, folders);
  const own = readManifest(join(root, folder));
  const used = new Set(modules.map((module) => module.folder));
  const names = new Map([...folders].map(([name, path]) => [path, name]));
  const homeOf = (each: string): string => (each === folder ? out : join(out, 'node_modules', names.get(each)!));
  for (const { file, folder: home, code } of modules)
    write(join(homeOf(home), javascriptName(file.slice(home.length + 1))), pointToJavascript(code));
  for (const each of used) {
    copyFiles(join(root, each), homeOf(each));
    if (each !== folder) write(join(homeOf(each), 'package.json'), inner(readManifest(join(root, each))));
  }
  const patched = PATCHED.filter((name) => external.has(name));
  for (const name of patched)
    cpSync(join(root, 'node_modules', name), join(out, 'node_modules', name), { recursive: true });
  const { files: _, ...shown } = own;
  const manifest = {
    ...shown,
    private: undefined,
    ...(own.exports && { exports: javascriptExports(own.exports) }),
    dependencies: versions(root, [...used], external, own),
    bundleDependencies: [...[...used].filter((each) => each !== folder).map((each) => names.get(each)!), ...patched],
  };
  for (const name of manifest.bundleDependencies) manifest.dependencies[name] ??= own.version;
  write(join(out, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  for (const file of ['LICENSE']) cpSync(join(root, file), join(out, file));
  if (existsSync(join(root, folder, 'README.md'))) cpSync(join(root, folder, 'README.md'), join(out, 'README.md'));
  for (const program of Object.values(own.bin ?? {})) chmodSync(join(out, program), 0o755);
  return { manifest, modules: modules.length };
}

/** Returns the version of each npm package, from the package.json files of those that import it. */
function versions(root: string, used: string[], external: ReadonlySet<string>, own: Manifest): Record<string, string> {
  const known = Object.assign({}, ...used.map((each) => readManifest(join(root, each)).dependencies ?? {}));
  const needed = [...external, ...(own.dependencies?.node ? ['node'] : [])].sort();
  const missing = needed.filter((name) => !(name in known));
  if (missing.length > 0) throw new Error(`${own.name} imports ${missing.join(', ')}: name it in a package.json`);
  return Object.fromEntries(needed.map((name) => [name, known[name] as string]));
}

function inner({ name, version, license, exports }: Manifest): string {
  return JSON.stringify({ name, version, license, type: 'module', exports: javascriptExports(exports!) }, undefined, 2);
}

function javascriptExports(exports: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(exports).map(([name, target]) => [name, javascriptName(target)]));
}

function javascriptName(file: string): string {
  return file.replace(/\.ts$/, '.js');
}

/** Rewrites `'./x.ts'` and `import.meta.dirname, 'x.ts'`, which name modules of the same package. */
function pointToJavascript(code: string): string {
  return code
    .replace(/(['"])(\.{1,2}\/[^'"\n]+)\.ts\1/g, '$1$2.js$1')
    .replace(/(import\.meta\.dirname, ')([^'\n]+)\.ts'/g, "$1$2.js'");
}

function copyFiles(from: string, to: string): void {
  for (const file of globSync(readManifest(from).files ?? [], { cwd: from }))
    cpSync(join(from, file), join(to, file), { recursive: true });
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
