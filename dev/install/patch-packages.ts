/**
 * Applies deploy/patches/NAME/NN-….patch, in order, to the package NAME. npm runs it after an installation and
 * bootstrap.mjs before every start, so that an installation from before a patch, or without install scripts, gets it
 * too. Does nothing when every file is as it should be.
 *
 * `patch-packages.ts --into DIR` patches the packages in DIR/node_modules instead, for an artifact that bundles them:
 * no copies are kept there.
 */
import { existsSync, globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { applyPatch, parsePatch, reversePatch, type StructuredPatch } from 'diff';

const root = join(import.meta.dirname, '../..');
/** Suffix of the copy of a published file. A changed patch is applied to this copy. */
const PUBLISHED = '.published';

/** A patch of one file. */
interface FilePatch {
  /** File that holds the patch, from the project's folder. */
  readonly source: string;
  readonly patch: StructuredPatch;
}

/** A file of a package before and after. */
interface PatchedFile {
  readonly file: string;
  readonly published: string;
  readonly current: string;
  readonly patched: string;
  /**
   * Number of patches that the file already contains. `undefined`: its content matches none of the expected versions.
   */
  readonly held: number | undefined;
  readonly patches: number;
}

/** Returns the patches of a package by file. The file of the last patch marks a patched package, so it comes last. */
function patchesOf(name: string): Map<string, FilePatch[]> {
  const byFile = new Map<string, FilePatch[]>();
  for (const path of globSync(`deploy/patches/${name}/*.patch`, { cwd: root }).sort()) {
    for (const patch of parsePatch(readFileSync(join(root, path), 'utf8'))) {
      const file = patch.newFileName!.replace(/^b\//, '');
      const known = byFile.get(file) ?? [];
      byFile.delete(file);
      byFile.set(file, [...known, { source: path, patch }]);
    }
  }
  return byFile;
}

/** Returns a text before its patches and after each of them. `undefined` if one does not fit. */
function stagesOf(published: string, patches: readonly FilePatch[]): string[] | undefined {
  const stages = [published];
  for (const { patch } of patches) {
    const next = applyPatch(stages.at(-1)!, patch);
    if (next === false) return undefined;
    stages.push(next);
  }
  return stages;
}

/** Returns a text without these patches. `undefined` if it does not hold them. */
function withoutPatches(text: string, patches: readonly FilePatch[]): string | undefined {
  let published: string | false = text;
  for (const { patch } of patches.toReversed())
    published = published === false ? false : applyPatch(published, reversePatch(patch));
  return published === false ? undefined : published;
}

/** Finds the published form of a file that holds none, some or all of its patches, and returns its stages. */
function findStages(file: string, current: string, patches: readonly FilePatch[]): string[] | undefined {
  if (existsSync(file + PUBLISHED)) return stagesOf(readFileSync(file + PUBLISHED, 'utf8'), patches);
  for (let held = patches.length; held >= 0; held -= 1) {
    const published = withoutPatches(current, patches.slice(0, held));
    const stages = published === undefined ? undefined : stagesOf(published, patches);
    if (stages?.[held] === current) return stages;
  }
  return undefined;
}

/** Reads a file of a package, and ends the process if its patches do not fit. */
function readFile(file: string, patches: readonly FilePatch[]): PatchedFile {
  const current = readFileSync(file, 'utf8');
  const stages = findStages(file, current, patches);
  if (!stages) {
    process.stderr.write(
      `${patches[0]!.source} and later patches do not fit ${file}: it is another version, or it was ` +
        'edited. Run: npm ci\n',
    );
    process.exit(1);
  }
  const held = stages.lastIndexOf(current);
  return {
    file,
    published: stages[0]!,
    current,
    patched: stages.at(-1)!,
    held: held < 0 ? undefined : held,
    patches: patches.length,
  };
}

/** Replaces a file atomically: a process that starts meanwhile reads either the old or the new file. */
function replaceFile(file: string, text: string): void {
  const part = `${file}.${process.pid}.part`;
  writeFileSync(part, text);
  renameSync(part, file);
}

/** Patches a package if it is installed. Nothing is written unless all patches fit. */
function patchPackage(name: string, modules: string, keepPublished: boolean): void {
  if (!existsSync(join(modules, name))) return;
  const files = [...patchesOf(name)].map(([file, patches]) => readFile(join(modules, name, file), patches));
  const started = files.some(({ held }) => held !== 0);
  for (const { file, held, patches } of files) {
    if (!started || held === patches) continue;
    process.stdout.write(
      `${relative(modules, file)} held ${held ?? 'other'} of ${patches} patches and is patched anew\n`,
    );
  }
  for (const { file, published, current, patched } of files) {
    if (!keepPublished) rmSync(file + PUBLISHED, { force: true });
    else if (!existsSync(file + PUBLISHED)) replaceFile(file + PUBLISHED, published);
    if (patched !== current) replaceFile(file, patched);
  }
}

const { into } = parseArgs({ options: { into: { type: 'string' } } }).values;
for (const name of globSync(['*', '@*/*'], { cwd: join(root, 'deploy/patches') }))
  patchPackage(name, join(into ?? root, 'node_modules'), into === undefined);
