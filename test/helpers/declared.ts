/**
 * Checks what test files declare (`// test: …`, tools/test-runner/README.md). A helper that needs a word calls this.
 */
import { readFileSync } from 'node:fs';
import { runningFile } from '@slipway/tools/test-runner/test-current';
import type { TestNeed } from '@slipway/tools/test-runner/test-declaration';
import { parseDeclaration } from '@slipway/tools/test-runner/test-declaration';

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
