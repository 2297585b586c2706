// test: 10 s
/**
 * The style, checked: import arrows, lengths, banned words. Each message says what to do instead. Rules and reasons:
 * ARCHITECTURE.md.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { circleOf, folderArrows } from '@slipway/tools/graph/folder-graph';
import t from 'tap';
import ts from 'typescript-api';
import { BANS } from './banned-code.ts';
import { docstringFaults } from './docstrings.ts';
import { ARROWS } from './import-arrows.ts';
import { LINE_COLUMNS_MAX, longLine } from './long-line.ts';
import { files, importsOf, isTest, listed, read, root, sources, targetOf, text, treeOf } from './project-files.ts';

const FILE_LINES_MAX = 300;
/** Of a test that starts a whole system: it holds what is measured on it, so that no second one starts. */
const SYSTEM_TEST_LINES_MAX = 375;
const STARTS_SYSTEM = /\bstart(System|Edge|DirectWay)\(/;
const FUNCTION_LINES_MAX = 70;
const FOLDER_FILES_MAX = 25;
const PROTO_COMMENT_SHARE_MIN = 0.4;
const COMMENT_SHARE_MIN = 0.08;

t.test('imports run one way', async (t) => {
  const faults: string[] = [];
  for (const file of sources) {
    const row = ARROWS.find(([folder]) => file.startsWith(folder));
    if (!row) continue;
    const [folder, allowed] = row;
    const wrong = importsOf(file).filter(
      (path) => !path.startsWith(folder) && !allowed.some((prefix) => path.startsWith(prefix)),
    );
    if (wrong.length > 0)
      faults.push(
        `${file} imports ${wrong}; allowed: ${[folder, ...allowed].join(', ')}. Move the code, or hand it in`,
      );
  }
  t.same(faults, []);
});

t.test('imports of another package use its name', async (t) => {
  const { workspaces } = JSON.parse(readFileSync('package.json', 'utf8')) as { workspaces: string[] };
  const packageOf = (file: string): string | undefined =>
    workspaces.findLast((folder) => file.startsWith(`${folder}/`));
  const faults: string[] = [];
  for (const file of sources) {
    const code = read(file).replace(/^(?:import|export) type [^;]*;/gm, '');
    const relative = [...code.matchAll(/(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g)].map(([, path]) => path!);
    const outside = relative.filter((path) => packageOf(targetOf(file, path)) !== packageOf(file));
    if (outside.length > 0)
      faults.push(`${file} imports ${outside}: write @slipway/PACKAGE/…, or it will not be packed`);
  }
  t.same(faults, []);
});

t.test('no import leads back to its file', async (t) => {
  const known = new Set(sources);
  const done = new Set<string>();
  const visit = (file: string, path: string[]): void => {
    if (path.includes(file))
      t.fail(`${[...path.slice(path.indexOf(file)), file].join(' -> ')}: move what both need into a file of its own`);
    if (path.includes(file) || done.has(file) || !known.has(file)) return;
    for (const next of importsOf(file)) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of sources) visit(file, []);
  t.equal(done.size, sources.length, 'every file was looked at');
});

t.test('types that one file alone uses are not exported', async (t) => {
  const imported = new Set(
    files.flatMap((file) =>
      [...read(file).matchAll(/^(?:import|export)(?: type)? (?:\{([^}]*)\}|\*).*? from '([^']+)';/gms)].flatMap(
        ([, names, path]) =>
          (names ?? '*').split(',').map((name) => {
            const [own] = name
              .trim()
              .replace(/^type /, '')
              .split(' as ');
            return `${targetOf(file, path!)}:${own}`;
          }),
      ),
    ),
  );
  const faults: string[] = [];
  // The worker's module is a package for others.
  for (const file of sources.filter((name) => !name.startsWith('worker/') && !imported.has(`${name}:*`))) {
    const names = [...read(file).matchAll(/^export (?:interface|type) (\w+)/gm)].map((match) => match[1]!);
    const unused = names.filter((name) => !imported.has(`${file}:${name}`));
    if (unused.length > 0) faults.push(`${file} exports ${unused}, which nobody imports: remove the word export`);
  }
  t.same(faults, []);
});

t.test('no folders import each other in a circle', async (t) => {
  const parentsOf = (file: string): string[] =>
    file.split('/').map((_, depth, names) => names.slice(0, depth).join('/'));
  const folders = new Set(files.flatMap(parentsOf));
  // Tests and tools use each other's helpers.
  const packages = new Map([...text].filter(([file]) => !/^(test|tools)\//.test(file)));
  const faults: string[] = [];
  for (const folder of folders) {
    const arrows = folder === '' ? folderArrows(packages, '') : folderArrows(text, `${folder}/`);
    const circle = circleOf(arrows).map((name) => join(folder, name));
    if (circle.length > 0)
      faults.push(`${circle.join(' -> ')}: move what two need to the lower one (npm run graph -- ${folder})`);
  }
  t.same(faults, []);
  t.ok(folders.size > 100, 'every folder was checked');
});

t.test('files and lines are short', async (t) => {
  const faults: string[] = [];
  for (const file of files) {
    const max = isTest(file) && STARTS_SYSTEM.test(read(file)) ? SYSTEM_TEST_LINES_MAX : FILE_LINES_MAX;
    const lines = read(file).split('\n');
    if (lines.length - 1 > max) faults.push(`${file} has ${lines.length - 1} lines, at most ${max}: split it`);
    const long = lines.every((line) => line.length <= LINE_COLUMNS_MAX) ? 0 : longLine(treeOf(file));
    if (long > 0) faults.push(`${file}:${long} is longer than ${LINE_COLUMNS_MAX} columns`);
  }
  t.same(faults, []);
});

t.test('folders are short lists', async (t) => {
  // Generated files, recordings that are read by pattern, and the contract, whose package is one folder.
  const exempt = /^drizzle\/migrations|^proto\/gen|^proto\/slipway\/v1|\/recordings$/;
  const counts = new Map<string, number>();
  for (const file of listed.split('\n').filter((name) => name !== ''))
    counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  const faults = [...counts].filter(([folder, count]) => !exempt.test(folder) && count > FOLDER_FILES_MAX);
  t.same(faults, [], `at most ${FOLDER_FILES_MAX} files: divide them by subject`);
});

t.test('functions are short', async (t) => {
  const faults: string[] = [];
  for (const file of sources) {
    const tree = treeOf(file);
    const visit = (node: ts.Node): void => {
      if (ts.isFunctionLike(node) && 'body' in node && node.body) {
        const first = tree.getLineAndCharacterOfPosition(node.getStart()).line;
        const length = tree.getLineAndCharacterOfPosition(node.end).line - first + 1;
        if (length > FUNCTION_LINES_MAX)
          faults.push(`${file}:${first + 1} is a function of ${length} lines, at most ${FUNCTION_LINES_MAX}`);
      }
      ts.forEachChild(node, visit);
    };
    visit(tree);
  }
  t.same(faults, []);
});

t.test('every type is written', async (t) => {
  for (const file of sources) {
    const tree = treeOf(file);
    const visit = (node: ts.Node): void => {
      const line = tree.getLineAndCharacterOfPosition(node.getStart()).line + 1;
      if (node.kind === ts.SyntaxKind.AnyKeyword)
        t.fail(`${file}:${line} has any: write the type, or unknown and a check`);
      ts.forEachChild(node, visit);
    };
    visit(tree);
  }
});

t.test('banned words', async (t) => {
  const faults: string[] = [];
  // Reproducers of faults in packages are programs for the packages' authors.
  for (const file of files.filter((name) => name !== 'test/banned-code.ts' && !name.startsWith('deploy/patches/'))) {
    for (const [pattern, allowed, instead] of BANS) {
      if (allowed.test(file)) continue;
      const line = read(file)
        .split('\n')
        .findIndex((content) => pattern.test(content));
      if (line !== -1) faults.push(`${file}:${line + 1} has ${pattern.source}: ${instead}`);
    }
  }
  t.same(faults, []);
});

t.test('properties are tested from the printed seed', async (t) => {
  for (const file of files.filter((name) => name !== 'test/tidy.test.ts' && read(name).includes('fc.assert('))) {
    t.match(
      read(file),
      /\bseed: SEED\b/,
      `${file}: give fc.assert { seed: SEED } of test/helpers/time/seeded-random.ts`,
    );
  }
});

t.test('a store is a class in its own file; shared parts of statements are elsewhere', async (t) => {
  const isExported = (node: ts.FunctionDeclaration): boolean =>
    !!node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
  for (const file of sources.filter((name) => name.startsWith('core/store/'))) {
    const name = file.split('/').at(-1)!.replace('.ts', '');
    const isStore = name.endsWith('-store');
    const classes = treeOf(file)
      .statements.filter(ts.isClassDeclaration)
      .map((each) => each.name!.text)
      .filter((each) => !each.endsWith('Error'));
    const functions = treeOf(file).statements.filter(ts.isFunctionDeclaration).filter(isExported);
    if (isStore) {
      const own = name.replace(/(^|-)(\w)/g, (_, _dash, letter: string) => letter.toUpperCase());
      t.same(classes, [own], `${file} holds ${own} and no other class`);
      t.same(
        functions.map((each) => each.name!.text),
        [],
        `${file} exports functions: move them to ${name.replace(/store$/, 'rows.ts')}`,
      );
    } else
      t.same(
        classes.filter((each) => each.endsWith('Store')),
        [],
        `${file} holds a store: name it *-store.ts`,
      );
    for (const { name: own, parameters } of functions) {
      const at = parameters.findIndex((each) => ['sql', 'tx', 'statement', 'database'].includes(each.name.getText()));
      t.ok(at <= 0, `${file}: ${own!.text} takes what it runs in first`);
    }
  }
  const made = sources.filter(
    (file) => file.startsWith('core/') && file !== 'core/store/storage.ts' && /\bnew \w+Store\(/.test(read(file)),
  );
  t.same(made, [], 'stores are made by core/store/storage.ts alone');
});

t.test('names', async (t) => {
  const nameOf = (file: string): string => file.split('/').at(-1)!;
  const kebab = /^[a-z0-9]+(-[a-z0-9]+)*(\.test)?\.(tsx?|mjs)$/;
  const vague = /^(utils?|helpers?|common|misc|manager|types|interfaces|lib)\.ts$/;
  const wrong = files.filter((file) => !kebab.test(nameOf(file)));
  t.same(wrong, [], 'files are named in kebab-case');
  const unclear = files.filter((file) => !isTest(file) && vague.test(nameOf(file)));
  t.same(unclear, [], 'files are named for the one thing inside');
});

t.test('no code in core, agent, dev and shared facades is duplicated', async (t) => {
  for (const part of ['core/', 'gpu-agent/', 'kit/', 'dev/', 'facades/(core-client|plugins|resources|jobs)/']) {
    const ours = sources.filter((file) => new RegExp(`^${part}`).test(file));
    const names = ours.flatMap((file) => [
      ...(part === 'core/' ? [file.split('/').at(-1)!] : []),
      // A schema and the type of what it describes have one name.
      ...new Set(
        [...read(file).matchAll(/^export (?:async )?(?:class|interface|type|function|const) (\w+)/gm)].map(
          (match) => match[1]!,
        ),
      ),
    ]);
    const twins = names.filter((name, index) => names.indexOf(name) !== index);
    t.same(twins, [], `${part}: a file and an exported name stand for one thing: find the other a name of its own`);
  }
});

t.test('comments', async (t) => {
  const share = (lines: string[], pattern: RegExp): number => {
    const written = lines.filter((line) => line.trim() !== '');
    return written.filter((line) => pattern.test(line)).length / written.length;
  };
  const silent = sources.filter((file) => !/^\/\*\*|^\/\//.test(read(file).replace(/^#!.*\n/, '')));
  t.same(silent, [], 'a file starts with a comment that says what it is for');
  // Components of the console are things: a button, a table.
  const functions = sources.filter((file) => file.endsWith('.ts')).flatMap(docstringFaults);
  t.same(functions, [], 'the comment of a function begins with a verb: Returns …, Records …, Throws …');
  for (const folder of ['core/', 'gpu-agent/', 'facades/']) {
    const lines = sources.filter((file) => file.startsWith(folder)).flatMap((file) => read(file).split('\n'));
    t.ok(share(lines, /^\s*(\/\/|\/?\*)/) >= COMMENT_SHARE_MIN, `${folder} explains itself`);
  }
  const protos = listed.split('\n').filter((file) => file.startsWith('proto/slipway/') && file.endsWith('.proto'));
  const lines = protos.flatMap((file) => readFileSync(join(root, file), 'utf8').split('\n'));
  t.ok(share(lines, /^\s*\/\//) >= PROTO_COMMENT_SHARE_MIN, 'the contract is its own manual');
});

t.test('no file has merge conflict markers', async (t) => {
  // Seven of one sign at a line's start; of a row of = alone Markdown makes headings.
  const args = ['grep', '--untracked', '-I', '-n', '-E', '^(<{7}|>{7}|[|]{7})( |$)'];
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  t.same([status, stdout], [1, ''], 'decide, and remove the marks');
});

t.test('every top folder has a README', async (t) => {
  const folders = 'proto kit core facades cli gpu-agent worker edge dev tools drizzle test deploy examples';
  for (const folder of folders.split(' ')) {
    t.ok(
      readFileSync(join(root, folder, 'README.md'), 'utf8').split('\n').length <= 50,
      `${folder}/README.md is short`,
    );
  }
});
