/** Types of a library, as the TypeScript of its users reads them: a `.d.ts` file for each module. */
import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A declaration file. Its path is relative to the package, and its imports end with `.ts`. */
interface DeclarationFile {
  file: string;
  text: string;
}

/** Compiles the package in `folder`. Throws if it has type errors. */
export function declarationsOf(root: string, folder: string): DeclarationFile[] {
  const out = mkdtempSync(join(tmpdir(), 'slipway-types-'));
  try {
    const tsc = join(root, 'node_modules/.bin/tsc');
    const state = ['--composite', 'false', '--incremental', 'false'];
    execFileSync(tsc, ['-p', join(root, folder), '--declaration', '--outDir', out, ...state], { stdio: 'pipe' });
    return globSync('**/*.d.ts', { cwd: out }).map((file) => ({ file, text: readFileSync(join(out, file), 'utf8') }));
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}
