/** Commands, options and settings that the documents name exist. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expandNoun } from '@slipway/cli/command-words';
import type { Command } from 'commander';
import t from 'tap';
import { buildParser } from '../cli/parser.ts';

const root = join(import.meta.dirname, '../..');
const git = (...args: string[]): string[] =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
    .trim()
    .split('\n');
const documents = git('ls-files', '*.md');
/** A command at the beginning of code, or behind npx or a prompt. Group: its words. */
const COMMAND = /(?:^|npx |\.bin\/|\$ |[;&(] *)slipway ([a-z-][^\n]*)/g;
/** Ends a command: a comment, a redirection, another command, or an ellipsis. */
const END = /\s#|[<>|;&…]|\)/;

/** Returns the commands in a document's code, each as words. */
function commandsIn(text: string): string[][] {
  const blocks = [...text.matchAll(/^ *```[^\n]*\n([^]*?)^ *```/gm)].map(([, block]) => block!);
  const indented = [...text.matchAll(/^ {4}(?=[^\s*-])(.*)$/gm)].map(([, line]) => line!);
  const inline = [...text.replaceAll(/^ *```[^]*?^ *```/gm, '').matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!);
  const lines = [...blocks, ...indented].flatMap((block) => block.replaceAll('\\\n', ' ').split('\n'));
  return [...lines, ...inline].flatMap((line) =>
    [...line.trim().matchAll(COMMAND)].map(([, words]) =>
      words!
        .split(END)[0]!
        .replaceAll(/[[\]'"]/g, ' ')
        .trim()
        .split(/\s+/),
    ),
  );
}

/** Returns what is wrong with a command. `undefined` if nothing is. */
function faultOf(program: Command, words: string[]): string | undefined {
  const args = expandNoun(program, words);
  const own = args.indexOf('--');
  const known = own < 0 ? args : args.slice(0, own);
  let command = program;
  const options = [...program.options];
  for (const word of known.filter((each) => !each.startsWith('-'))) {
    const child = command.commands.find((each) => each.name() === word || each.aliases().includes(word));
    if (!child) break;
    command = child;
    options.push(...child.options);
  }
  if (command === program && !known[0]!.startsWith('-'))
    return known[0] === 'help' ? undefined : 'there is no such command';
  const [next] = known.slice(known.indexOf(command.name()) + 1);
  if (command.commands.length > 0 && next !== undefined && /^[a-z][a-z-]+$/.test(next)) return `no command ${next}`;
  const wrong = known.find(
    (word) => /^--[a-z]/.test(word) && word !== '--help' && !options.some(({ long }) => long === word.split('=')[0]),
  );
  return wrong && `there is no option ${wrong}`;
}

t.test('commands in the documents', async (t) => {
  const { program } = buildParser();
  let checked = 0;
  for (const file of documents)
    for (const words of commandsIn(readFileSync(join(root, file), 'utf8'))) {
      t.equal(faultOf(program, words), undefined, `${file}: slipway ${words.join(' ')}`);
      checked += 1;
    }
  t.ok(checked > 200, `${checked} commands`);
});

t.test('settings in the documents', async (t) => {
  const known = new Set(git('grep', '-hoE', 'SLIPWAY_[A-Z0-9_]+', '--', '.', ':!*.md'));
  // Every secret may come from a file.
  for (const file of documents)
    for (const [, name] of readFileSync(join(root, file), 'utf8').matchAll(
      /\b(SLIPWAY_[A-Z0-9_]*[A-Z0-9])\b(?![*…_])/g,
    ))
      t.ok(known.has(name!) || known.has(name!.replace(/_FILE$/, '')), `${file}: ${name}`);
  t.ok(known.size > 100, `${known.size} settings`);
});
