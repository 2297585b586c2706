/**
 * Holds test files to what they declare (`// test: …`, deploy/local/TEST-RUNNER.md): a helper that needs a word asks
 * for it here.
 */
import { readFileSync } from 'node:fs';
import { runningFile } from '../../deploy/local/test-current.ts';
import type { TestNeed } from '../../deploy/local/test-declaration.ts';
import { parseDeclaration } from '../../deploy/local/test-declaration.ts';

/**
 * Throws when the test file that runs does not declare the word. Programs that are not test files, like the bench,
 * declare nothing.
 */
export function requireDeclared(word: TestNeed | 'alone'): void {
  const file = runningFile();
  if (file === undefined) return;
  const { alone, needs } = parseDeclaration(file, readFileSync(file, 'utf8'));
  if (word === 'alone' ? !alone : !needs.has(word)) {
    throw new Error(
      `${file} uses a helper that needs "${word}": declare it in the first line, like "// test: ${word}"`,
    );
  }
}
