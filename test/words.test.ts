/**
 * The nouns of exported types are the words of ARCHITECTURE.md: one word for an idea. A type with a new noun either
 * gets a name with a word that is there, or its word gets a line there.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '..');
const EXPORTED = /^export (?:abstract )?(?:class|interface|type) (\w+)/gm;
const ANY = /^(?:export )?(?:abstract )?(?:class|interface|type) (\w+)/gm;
/** Words that end in s and are no plurals. */
const SINGULAR = /(ss|us|is|status|access|progress|address|process|always|tls)$/;

function singular(noun: string): string {
  if (SINGULAR.test(noun)) return noun;
  if (/(sses|shes|xes)$/.test(noun)) return noun.slice(0, -2);
  return noun.replace(/([^k])ies$/, '$1y').replace(/s$/, '');
}

/** Returns the last word of a name: `place` of `QueuePlace`, `mib` of `SizeMiB`. */
function nounOf(name: string): string {
  return singular(
    name
      .match(/[A-Z]+(?![a-z])|[A-Z][a-z0-9]*/g)!
      .at(-1)!
      .toLowerCase(),
  );
}

/** Returns the names of types by their noun. `types`: EXPORTED or ANY. */
function nounsOf(types: RegExp): Map<string, string[]> {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts'], {
    cwd: root,
    encoding: 'utf8',
  });
  const nouns = new Map<string, string[]>();
  for (const file of listed.split('\n')) {
    if (!/^(kit|core|facades|cli|gpu-agent|worker|edge|dev|proto\/wire)\//.test(file)) continue;
    for (const [, name] of readFileSync(join(root, file), 'utf8').matchAll(types))
      nouns.set(nounOf(name!), [...(nouns.get(nounOf(name!)) ?? []), `${name} of ${file}`]);
  }
  return nouns;
}

/** Words of the section "Words": the table's first column, and the lists of nouns below it. */
function knownWords(): Set<string> {
  const section = /\n## Words\n([^]*?)\n## /.exec(readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8'))![1]!;
  const table = [...section.matchAll(/^\| ([a-z][a-z -]*) \|/gm)].map(([, word]) => word!.split(' ').at(-1)!);
  const lists = [...section.matchAll(/^- [^:\n]*: ([a-z, \n]+)\.$/gm)].flatMap(([, list]) => list!.split(/,\s*/));
  return new Set([...table, ...lists.map((word) => word.trim())].map(singular));
}

t.test('every noun of an exported type is a word of ARCHITECTURE.md', async (t) => {
  const known = knownWords();
  for (const [noun, names] of nounsOf(EXPORTED))
    t.ok(known.has(noun), `${names.join(', ')}: "${noun}" is no word of ARCHITECTURE.md: use one that is, or add it`);
});

t.test('every listed noun is used', async (t) => {
  const used = nounsOf(ANY);
  const section = /\n## Words\n([^]*?)\n## /.exec(readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8'))![1]!;
  for (const [, list] of section.matchAll(/^- [^:\n]*: ([a-z, \n]+)\.$/gm))
    for (const word of list!.split(/,\s*/)) t.ok(used.has(singular(word.trim())), `${word} is no noun of any type now`);
});
