/** Chooses the test files of a run by the arguments of `npm test`. */
import { globSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { readDeclaration } from './test-declaration.ts';

/** Longest declared time of a file in a quick run, in seconds. */
export const QUICK_SECONDS_MAX = 10;

/** Files of a quick run, and the files that it leaves out, longest first. */
interface QuickSelection {
  kept: string[];
  leftOut: string[];
}

/**
 * Returns the files of a run whose arguments are files and folders only; `undefined` if the arguments contain options
 * of tap.
 */
export function filesOf(root: string, args: readonly string[]): string[] | undefined {
  if (args.some((argument) => argument.startsWith('-'))) return undefined;
  const all = globSync('test/**/*.test.ts', { cwd: root });
  if (args.length === 0) return all;
  const named = args.map((argument) => relative(root, resolve(root, argument)));
  return all.filter((file) => named.some((name) => file === name || file.startsWith(`${name}/`)));
}

/** Divides the files by the times that they declare. Throws DeclarationError if a declaration cannot be read. */
export function quickSelection(root: string, files: readonly string[]): QuickSelection {
  const seconds = new Map(files.map((file) => [file, readDeclaration(root, file).seconds]));
  const isQuick = (file: string): boolean => seconds.get(file)! <= QUICK_SECONDS_MAX;
  return {
    kept: files.filter(isQuick),
    leftOut: files.filter((file) => !isQuick(file)).sort((a, b) => seconds.get(b)! - seconds.get(a)!),
  };
}
