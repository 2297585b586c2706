/**
 * Finds the modules that a package ships: its own, and those of other packages of this repository that they import,
 * directly or not. Types are already removed, so an import of types alone adds nothing.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join, normalize, relative } from 'node:path';

/**
 * Matches import statements at the start of a line, `import('…')`, `import.meta.resolve('…')`, calls of a created
 * `require`, and `new URL('./…', import.meta.url)`.
 */
const IMPORT = new RegExp(
  [
    /^(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"\n]+)['"]/,
    /^import\s*['"]([^'"\n]+)['"]/,
    /\b(?:import|import\.meta\.resolve|require|load)\(\s*['"]([^'"\n]+)['"]/,
    /\bnew URL\('(\.[^'\n]+)', import\.meta\.url\)/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gm',
);
/** Files of a package's folder that do not belong to the package. */
const LEFT_OUT = ['**/*.test.ts', '**/*.d.ts', 'console/web/**', '*/build.ts', 'install/**', 'node_modules/**'];

/** One module that ships. Paths are relative to the repository. */
export interface ShippedModule {
  file: string;
  /** Folder of its package, for instance `kit`. */
  folder: string;
  /** JavaScript with the same lines as the TypeScript. */
  code: string;
}

/** Content of a package. */
interface PackageGraph {
  modules: readonly ShippedModule[];
  /** Specifiers of npm packages in the modules, for instance `fastify` and `@bufbuild/protobuf/wire`. */
  external: ReadonlySet<string>;
}

/** Returns the graph of the package in `folder`. `folders`: the folder of each package of the repository, by name. */
export function packageGraph(root: string, folder: string, folders: ReadonlyMap<string, string>): PackageGraph {
  const own = globSync('**/*.{ts,mjs}', { cwd: join(root, folder), exclude: LEFT_OUT });
  const waiting = own.sort().map((file) => join(folder, file));
  const modules = new Map<string, ShippedModule>();
  const external = new Set<string>();
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
    if (modules.has(file)) continue;
    const code = javascriptOf(join(root, file));
    modules.set(file, { file, folder: packageFolderOf(file, folders), code });
    for (const specifier of importsOf(code)) {
      const target = resolveInside(root, file, specifier, folders);
      if (target !== undefined) waiting.push(target);
      else if (!/^(node:|\.)/.test(specifier) && !folders.has(packageName(specifier))) external.add(specifier);
    }
  }
  return { modules: [...modules.values()], external };
}

/** Returns the folder of the package that a file belongs to: the innermost one, because packages may be nested. */
function packageFolderOf(file: string, folders: ReadonlyMap<string, string>): string {
  const around = [...folders.values()].filter((folder) => file.startsWith(`${folder}/`));
  return around.reduce((inner, folder) => (folder.length > inner.length ? folder : inner));
}

function javascriptOf(file: string): string {
  const text = readFileSync(file, 'utf8');
  return file.endsWith('.ts') ? stripTypeScriptTypes(text) : text;
}

function importsOf(code: string): string[] {
  return [...withoutComments(code).matchAll(IMPORT)].map(([, ...found]) => found.find((each) => each !== undefined)!);
}

/** Returns the file of a specifier that names a module of this repository; `undefined` for all others. */
function resolveInside(
  root: string,
  file: string,
  specifier: string,
  folders: ReadonlyMap<string, string>,
): string | undefined {
  if (specifier.startsWith('.')) {
    const path = normalize(join(dirname(file), specifier));
    return /\.(ts|mjs)$/.test(path) && existsSync(join(root, path)) ? relative('.', path) : undefined;
  }
  const name = packageName(specifier);
  const folder = folders.get(name);
  if (folder === undefined) return undefined;
  const path = specifier.slice(name.length + 1) || entryOf(join(root, folder));
  const candidates = [`${path}.ts`, path].map((each) => join(folder, each));
  return candidates.find((each) => /\.(ts|mjs)$/.test(each) && existsSync(join(root, each)));
}

/** Returns the module that the name of a package alone stands for, relative to the package. */
function entryOf(folder: string): string {
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { exports: { '.'?: string } };
  return normalize(exports['.'] ?? '');
}

/** Returns the npm package of a specifier, for instance `@scope/name` of `@scope/name/file`. */
export function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

export function withoutComments(code: string): string {
  return code.replace(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '');
}
