/**
 * Finds the files of a handler: its own file and the files of its folder that it imports, directly or not. Imports are
 * read from the text; nothing is run. So an import that is computed at run time is not found, and an import in a
 * comment does no harm.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, extname, join, resolve, sep } from 'node:path';

/** Most files that are followed. A large folder of code by other people is not watched file by file. */
const FILES_MAX = 500;
/** Largest file that is read for imports, in bytes. Larger files hold data. */
const FILE_BYTES_MAX = 1024 * 1024;
const JS_IMPORT = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*(['"])(\.{1,2}\/[^'"\n]+)\1/g;
const JS_ENDINGS = ['', '.js', '.mjs', '.cjs', '.ts', '.mts', '.json', '/index.js'];
const PYTHON_IMPORT = /^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]+))/gm;

/** Returns absolute paths, the handler's first. Missing files are left out, but the handler itself is always listed. */
export function handlerFiles(handler: string): string[] {
  return moduleFiles(handler, dirname(handler));
}

/** Returns the same list for any program and its imports below `root`. */
export function moduleFiles(program: string, root: string): string[] {
  const found = new Set([program]);
  for (const file of found) {
    if (found.size >= FILES_MAX) break;
    const text = read(file);
    const imported =
      extname(file) === '.py' ? pythonImports(text, dirname(file), root) : jsImports(text, dirname(file));
    for (const path of imported) if (path.startsWith(root + sep) && isFile(path)) found.add(path);
  }
  return [...found];
}

function read(file: string): string {
  try {
    return statSync(file).size > FILE_BYTES_MAX ? '' : readFileSync(file, 'utf8');
  } catch {
    // The file was removed at this moment.
    return '';
  }
}

function isFile(path: string): boolean {
  return existsSync(path) && statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function jsImports(text: string, folder: string): string[] {
  return [...text.matchAll(JS_IMPORT)].flatMap(([, , name]) =>
    JS_ENDINGS.map((ending) => resolve(folder, `${name}${ending}`)),
  );
}

function pythonImports(text: string, folder: string, root: string): string[] {
  return [...text.matchAll(PYTHON_IMPORT)].flatMap(([, from, names, modules]) => {
    if (from === undefined) return namesOf(modules!).flatMap((module) => pythonModule(root, module));
    const [, dots, module] = /^(\.*)(.*)$/.exec(from)!;
    const start = dots === '' ? root : resolve(folder, ...Array.from({ length: dots!.length - 1 }, () => '..'));
    return ['', ...namesOf(names!)].flatMap((name) =>
      pythonModule(start, [module, name].filter((part) => part !== '').join('.')),
    );
  });
}

/** Returns the names in `a.b as c, d`. */
function namesOf(list: string): string[] {
  return list
    .replace(/[()]/g, '')
    .split(',')
    .map((name) => /[\w.]+/.exec(name)?.[0] ?? '')
    .filter((name) => name !== '');
}

/** Returns candidate files of a module: its own, and the files of the packages around it. */
function pythonModule(start: string, module: string): string[] {
  const parts = module.split('.').filter((part) => part !== '');
  const packages = parts.map((_, index) => join(start, ...parts.slice(0, index + 1), '__init__.py'));
  return parts.length === 0 ? [join(start, '__init__.py')] : [...packages, `${join(start, ...parts)}.py`];
}
