/**
 * Inlines third-party packages into an artifact. The JavaScript of all packages that its modules import becomes a few
 * files of the bundled package `@slipway/third-party`. Each imported package keeps its name and version, as a folder
 * with one line for each entry, so that neither imports nor lists of dependencies change.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OutputChunk, type Plugin, rolldown } from 'rolldown';
import { packageName, withoutComments } from './package-graph.ts';

const HOME = '@slipway/third-party';
const MODULES = '/node_modules/';
/**
 * Defines names that ES modules do not have in the Node that runs artifacts. Packages use them next to code that we
 * never call.
 */
const BANNER = 'const __dirname = import.meta.dirname, __filename = import.meta.filename;';
/**
 * Packages that are left out. Only docker-modem imports ssh2, for engines on other hosts, which the agent rejects, and
 * ssh2 has a native part.
 */
const LEFT_OUT = ['ssh2'];
/** Modules that find files by `__dirname`, in code that we never call. */
const READS_ITS_FOLDER = [
  'dockerode/lib/session.js',
  'dockerode/lib/buildkit.js',
  'thread-stream/index.js',
  'pino/lib/transport.js',
  '@fastify/swagger/lib/util/read-package-json.js',
  '@grpc/grpc-js/build/src/channelz.js',
  '@grpc/grpc-js/build/src/orca.js',
];
const LICENCE_FILES = '{LICENSE,LICENCE,License,license,COPYING}*';

/** A file of an artifact, below its node_modules. */
interface InlinedFile {
  file: string;
  text: string;
}

/** Result of inlining. */
interface InlinedPackages {
  files: readonly InlinedFile[];
  /** Packages to bundle: the packages of the specifiers, and the package that holds the code. */
  bundled: readonly string[];
  /** Licences of all packages whose code is inside. */
  licences: string;
}

/**
 * Inlines the packages that `specifiers` name (`fastify`, `@bufbuild/protobuf/wire`), with everything that they import.
 * `version`: the artifact's.
 */
export async function inlinePackages(
  root: string,
  version: string,
  specifiers: readonly string[],
): Promise<InlinedPackages> {
  const entries = await Promise.all(specifiers.map((specifier) => entryOf(root, specifier)));
  const chunks = await bundle(root, entries);
  const used = [...new Set(specifiers.map(packageName))];
  return {
    files: [
      ...chunks.map(({ fileName, code }) => ({ file: `${HOME}/${fileName}`, text: code })),
      manifest(HOME, { version, license: 'SEE LICENSE IN THIRD_PARTY_LICENSES' }, { './*': './*' }),
      ...entries.map(({ specifier, hasDefault }) => ({
        file: `${packageName(specifier)}/${entryFile(specifier)}`,
        text: [
          `export * from '${HOME}/${specifier}.js';\n`,
          hasDefault ? `export { default } from '${HOME}/${specifier}.js';\n` : '',
        ].join(''),
      })),
      ...used.map((name) => manifest(name, readPackage(join(root, 'node_modules', name)), exportsOf(name, specifiers))),
    ],
    bundled: [...used, HOME],
    licences: foldersOf(chunks).map(licenceOf).join('\n'),
  };
}

interface Entry {
  specifier: string;
  /** Path of a module that does not exist on disk. CommonJS packages need it because their exports must be named. */
  id: string;
  code: string;
  hasDefault: boolean;
}

async function entryOf(root: string, specifier: string): Promise<Entry> {
  const found = Object.keys((await import(specifier)) as object);
  const names = found.filter((name) => !['default', 'module.exports', '__esModule'].includes(name));
  const hasDefault = found.includes('default');
  const exported = hasDefault ? ['default', ...names] : names;
  return {
    specifier,
    id: join(root, `inlined-${specifier.replace(/\W+/g, '-')}.mjs`),
    code: `export { ${exported.join(', ')} } from '${specifier}';\n`,
    hasDefault,
  };
}

async function bundle(root: string, entries: readonly Entry[]): Promise<OutputChunk[]> {
  const built = await rolldown({
    cwd: root,
    platform: 'node',
    input: Object.fromEntries(entries.map(({ specifier, id }) => [specifier, id])),
    plugins: [virtual(entries)],
    onLog: (_level, { message }) => {
      throw new Error(`inlining packages: ${message}`);
    },
  });
  const { output } = await built.generate({
    format: 'esm',
    banner: BANNER,
    comments: { legal: true },
    entryFileNames: '[name].js',
    chunkFileNames: 'shared/[name].js',
  });
  await built.close();
  const chunks = output.filter((each) => each.type === 'chunk');
  for (const { modules } of chunks) {
    for (const [id, { code }] of Object.entries(modules))
      if (code !== null && withoutComments(code).includes('__dirname')) checkFolderReader(id);
  }
  return chunks;
}

function virtual(entries: readonly Entry[]): Plugin {
  const codes = new Map(entries.map(({ id, code }) => [id, code]));
  for (const name of LEFT_OUT) codes.set(`\0${name}`, 'export {};');
  return {
    name: 'entries',
    resolveId: (id) => {
      if (LEFT_OUT.includes(id)) return `\0${id}`;
      return codes.has(id) ? id : undefined;
    },
    load: (id) => codes.get(id),
  };
}

/** Stops the packing at a module that may read files of its package, because these are not in the artifact. */
function checkFolderReader(id: string): void {
  if (READS_ITS_FOLDER.some((known) => id.endsWith(MODULES + known))) return;
  throw new Error(`${id} uses __dirname. See whether it needs files at run time, then add it to READS_ITS_FOLDER.`);
}

/** Returns the folder of each package that modules come from. */
function foldersOf(chunks: readonly OutputChunk[]): string[] {
  const folders = chunks
    .flatMap(({ moduleIds }) => moduleIds)
    .filter((id) => id.includes(MODULES))
    .map((id) => {
      const start = id.lastIndexOf(MODULES) + MODULES.length;
      return id.slice(0, start) + packageName(id.slice(start));
    });
  return [...new Set(folders)].sort();
}

interface Described {
  name?: string;
  version: string;
  license?: string | { type: string };
}

function readPackage(folder: string): Described {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Described;
}

function manifest(name: string, { version, license }: Described, exports: Record<string, string>): InlinedFile {
  const text = JSON.stringify({ name, version, license, type: 'module', exports }, undefined, 2);
  return { file: `${name}/package.json`, text: `${text}\n` };
}

function exportsOf(name: string, specifiers: readonly string[]): Record<string, string> {
  const own = specifiers.filter((specifier) => packageName(specifier) === name);
  return Object.fromEntries(own.map((each) => [`.${each.slice(name.length)}`, `./${entryFile(each)}`]));
}

function entryFile(specifier: string): string {
  return `${specifier.slice(packageName(specifier).length + 1).replaceAll('/', '-') || 'index'}.js`;
}

function licenceOf(folder: string): string {
  const { name, version, license } = readPackage(folder);
  const texts = globSync(LICENCE_FILES, { cwd: folder }).map((file) => readFileSync(join(folder, file), 'utf8').trim());
  const kind = typeof license === 'object' ? license.type : (license ?? 'see below');
  return [`${name} ${version} (${kind})`, '-'.repeat(78), ...texts, ''].join('\n');
}
