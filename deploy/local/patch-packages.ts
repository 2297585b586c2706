/**
 * Applies deploy/patches/NAME.patch to the package NAME in node_modules. Run by npm after an installation and by bootstrap.mjs before every
 * start, so that an installation from before a patch, or without install scripts, gets it too. Does nothing when all is as it should be.
 */
import { existsSync, globSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { applyPatch, parsePatch } from 'diff';

const root = join(import.meta.dirname, '..', '..');
/** Ends the name of a file's copy as it was published: a patch that has changed starts from there. */
const PUBLISHED = '.published';

/** Replaces a file at once: a process that starts meanwhile reads the old or the new one. */
function replaceFile(file: string, text: string): void {
  const part = `${file}.${process.pid}.part`;
  writeFileSync(part, text);
  renameSync(part, file);
}

for (const patchFile of globSync('deploy/patches/*.patch', { cwd: root })) {
  const name = basename(patchFile, '.patch');
  for (const patch of parsePatch(readFileSync(join(root, patchFile), 'utf8'))) {
    const file = join(root, 'node_modules', name, patch.newFileName!.replace(/^b\//, ''));
    const kept = file + PUBLISHED;
    const current = readFileSync(file, 'utf8');
    const published = existsSync(kept) ? readFileSync(kept, 'utf8') : current;
    const patched = applyPatch(published, patch);
    if (patched === false) {
      process.stderr.write(`${patchFile} does not fit ${file}: it is another version, or somebody has edited it. Run: npm ci\n`);
      process.exit(1);
    }
    if (patched === current) continue;
    if (!existsSync(kept)) replaceFile(kept, published);
    replaceFile(file, patched);
  }
}
