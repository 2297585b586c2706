/** Finds what the last word of a command line can become. */
import type { Argument, Command, Option } from 'commander';
import type { Cli } from '../cli.ts';
import { childOf } from '../command-words.ts';
import type { Candidate } from './candidate.ts';
import { namesOf } from './live-names.ts';

/** Meaning of the words before the last one. */
interface Place {
  command: Command;
  /** Names of the command and its groups, as `jobs get`. */
  path: string;
  /** Arguments that were given. */
  given: string[];
  /** Option whose value comes next. */
  open: Option | undefined;
  /** Values of options, by commander's names. */
  values: Record<string, string>;
  /** After `--` every word is an argument. */
  isOver: boolean;
}

/** Returns the words, in the order of the help. */
export async function candidatesFor(cli: Cli, program: Command, words: readonly string[]): Promise<Candidate[]> {
  const prefix = words.at(-1) ?? '';
  const place = placeOf(program, words.slice(0, -1));
  const found = await candidatesAt(cli, program, place, prefix);
  return found.filter(({ word }) => word.startsWith(prefix));
}

async function candidatesAt(cli: Cli, program: Command, place: Place, prefix: string): Promise<Candidate[]> {
  const { command, open, given, isOver, path } = place;
  if (open) return valuesOf(cli, place, open, open.flags);
  if (prefix.startsWith('-') && !isOver) return optionsOf(program, command);
  if (command.commands.length > 0) {
    const names = [...command.commands].map((child) => ({
      word: child.name(),
      about: firstSentence(child.description()),
    }));
    return path === '' ? [...names, { word: 'help', about: 'Show help of a command' }] : names;
  }
  const { registeredArguments: all } = command;
  const argument = all[given.length] ?? all.find(({ variadic }) => variadic);
  return argument ? valuesOf(cli, place, argument, argument.name()) : [];
}

function placeOf(program: Command, words: readonly string[]): Place {
  const place: Place = { command: program, path: '', given: [], open: undefined, values: {}, isOver: false };
  for (const word of words) {
    const { command, open } = place;
    if (open) {
      place.values[open.attributeName()] = word;
      place.open = undefined;
    } else if (word === '--') place.isOver = true;
    else if (word.startsWith('-') && !place.isOver) {
      const option = [...command.options, ...program.options].find(
        ({ long, short }) => word === long || word === short,
      );
      if (option?.required) place.open = option;
    } else if (childOf(command, word) && place.given.length === 0) {
      place.command = childOf(command, word)!;
      place.path = `${place.path} ${place.command.name()}`.trim();
    } else if (!(command === program && word === 'help')) place.given.push(word);
  }
  return place;
}

function optionsOf(program: Command, command: Command): Candidate[] {
  const all = command === program ? program.options : [...command.options, ...program.options];
  return all
    .filter(({ hidden, long }) => !hidden && long)
    .map(({ long, description }) => ({ word: long!, about: firstSentence(description) }));
}

/** Returns values of an option or argument: its words, or names of what is there. `text`: as the help writes it. */
async function valuesOf(cli: Cli, place: Place, of: Option | Argument, text: string): Promise<Candidate[]> {
  const reader = of.parseArg as { words?: readonly string[] } | undefined;
  const words = of.argChoices ?? reader?.words;
  if (words) return words.map((word) => ({ word, about: '' }));
  const thing = /<([^>]+)>/.exec(text)?.[1] ?? text;
  return namesOf(cli, { thing, path: place.path, values: place.values });
}

function firstSentence(text: string): string {
  return text.split(/(?<=\.) |; /, 1)[0]!.replace(/\.$/, '');
}
