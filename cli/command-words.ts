/** Words of a command line that stand for others: a noun alone for its list, and usual verbs in suggestions. */
import type { Command } from 'commander';

const LIST = 'list';

/** Verbs of other programs, and what they are called here. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  ls: [LIST],
  ps: [LIST],
  show: ['get'],
  describe: ['get'],
  inspect: ['get'],
  status: ['get', 'health'],
  new: ['create', 'add'],
  add: ['create', 'set'],
  rm: ['delete', 'remove', 'cancel'],
  del: ['delete', 'remove'],
  delete: ['remove', 'revoke', 'cancel'],
  kill: ['cancel'],
  stop: ['cancel'],
  remove: ['delete'],
  destroy: ['delete'],
  edit: ['update', 'set'],
  set: ['update'],
  submit: ['run'],
};

/**
 * Returns the words with `list` behind a noun that has such a command and none after it: `slipway jobs --status
 * failed`. A noun whose list takes an argument needs no `list` before it either: `slipway workers ocr`.
 */
export function expandNoun(program: Command, args: readonly string[]): string[] {
  const at = operandAt(program, args, 0);
  const noun = at === undefined ? undefined : childOf(program, args[at]!);
  const list = noun && childOf(noun, LIST);
  if (at === undefined || !noun || !list || args.slice(at).some((word) => word === '-h' || word === '--help'))
    return [...args];
  const next = operandAt(program, args, at + 1, [noun, list]);
  const isList = next === undefined || (list.registeredArguments.length > 0 && !childOf(noun, args[next]!));
  return isList ? [...args.slice(0, at + 1), LIST, ...args.slice(at + 1)] : [...args];
}

/**
 * Returns what an unknown command may mean, beside commands that are written alike: a verb of other programs, or a verb
 * before its noun. Empty if nothing is known.
 */
export function suggestionFor(program: Command, args: readonly string[]): string {
  const at = operandAt(program, args, 0);
  if (at === undefined) return '';
  const noun = childOf(program, args[at]!);
  const group = noun ?? program;
  const [word = '', next = ''] = args.slice(noun ? at + 1 : at).filter((text) => !text.startsWith('-'));
  const verbs = [word, ...(Object.hasOwn(SYNONYMS, word) ? SYNONYMS[word]! : [])];
  const after = !noun && (childOf(program, next) ?? childOf(program, `${next}s`));
  const names = after
    ? verbs.filter((verb) => childOf(after, verb)).map((verb) => `slipway ${after.name()} ${verb}`)
    : verbs.slice(1).filter((verb) => childOf(group, verb));
  return names.length === 0 ? '' : `Did you mean ${names.join(' or ')}?`;
}

/** Returns the command of a group by its name or an alias. */
export function childOf(group: Command, word: string): Command | undefined {
  return group.commands.find((child) => child.name() === word || child.aliases().includes(word));
}

/** Returns the index of the first word from `from` on that is no option and no value of one. */
function operandAt(
  program: Command,
  args: readonly string[],
  from: number,
  others: readonly Command[] = [],
): number | undefined {
  const options = [program, ...others].flatMap((command) => command.options);
  for (let index = from; index < args.length && args[index] !== '--'; index += 1) {
    const word = args[index]!;
    if (!word.startsWith('-') || word === '-') return index;
    const option = options.find(({ short, long }) => word === short || word === long);
    if (option?.required && !word.includes('=')) index += 1;
  }
  return undefined;
}
