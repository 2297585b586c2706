/**
 * Finds the test files of a source file: files that import it, directly or through others. Imports, and paths of
 * programs that tests start, are read from the text. Nothing is run.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve, sep } from 'node:path';

/**
 * Most imports between a test and its source file. At two imports one file lies between them: a helper of tests, or the
 * part that the source file belongs to.
 */
const DISTANCE_MAX = 2;
/**
 * Most tests of a file beyond direct imports. More distant tests are left out if they would exceed it, because nearly
 * everything imports a clock indirectly.
 */
const FILES_MAX = 40;
const SOURCES = '**/*.{ts,tsx,mjs}';
const EXCLUDED = ['node_modules', '.git', '.tap', '.slipway-test', 'dist'];
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'([^'\n]+)'/g;
/** Matches a program's path from the project's root, in quotes. */
const PROGRAM = /'([\w-]+(?:\/[\w.-]+)+\.(?:tsx?|mjs))'/g;

/** A test file and the number of imports between it and the source file: 1 if it imports it directly. */
interface FoundTest {
  file: string;
  distance: number;
}

/**
 * Returns the tests of a file, nearest first. These are the tests that import it, plus those at two imports while there
 * are at most 40 together. If there are none, they are the nearest tests. A test file is its own test. Paths are
 * relative to `root`.
 */
export function testsOf(root: string, source: string): FoundTest[] {
  const start = relative(root, resolve(root, source));
  if (start.endsWith('.test.ts')) return [{ file: start, distance: 0 }];
  const importers = importersIn(root);
  const found: FoundTest[] = [];
  const seen = new Set([start]);
  let layer = [start];
  for (let distance = 1; layer.length > 0 && (distance <= DISTANCE_MAX || found.length === 0); distance += 1) {
    layer = [...new Set(layer.flatMap((file) => [...(importers.get(file) ?? [])]))].filter((file) => !seen.has(file));
    for (const file of layer) seen.add(file);
    const tests = layer.filter((file) => file.endsWith('.test.ts')).sort();
    if (found.length > 0 && found.length + tests.length > FILES_MAX) break;
    found.push(...tests.map((file) => ({ file, distance })));
  }
  return found;
}

/** Returns the files that import each file of the project. */
function importersIn(root: string): Map<string, Set<string>> {
  const importers = new Map<string, Set<string>>();
  const exclude = (path: string): boolean => EXCLUDED.includes(path.split(sep).at(-1)!);
  for (const file of globSync(SOURCES, { cwd: root, exclude })) {
    for (const imported of importsOf(root, file)) {
      const of = importers.get(imported) ?? new Set();
      importers.set(imported, of.add(file));
    }
  }
  return importers;
}

function importsOf(root: string, file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const imported = [...text.matchAll(IMPORT)].map(([, name]) => resolveImport(root, file, name!));
  const started = file.startsWith('test/') ? [...text.matchAll(PROGRAM)].map(([, path]) => path!) : [];
  return [...imported, ...started].filter((path) => path !== undefined && existsSync(join(root, path))) as string[];
}

/**
 * Returns the project's file of a relative path or of a name in one of its packages; `undefined` for everything else.
 */
function resolveImport(root: string, file: string, name: string): string | undefined {
  if (name.startsWith('.')) return join(dirname(file), name);
  if (name.startsWith('node:')) return undefined;
  try {
    const path = relative(root, createRequire(join(root, file)).resolve(name));
    return path.startsWith('..') || path.includes('node_modules') ? undefined : path;
  } catch {
    return undefined;
  }
}
