/** Options of a described resource, and their values as fields of the contract. */

import type { Kind, Table } from '@slipway/facades/resources/field';
import type { Command } from 'commander';
import type { Changes } from './changes.ts';
import { changesOf } from './changes.ts';
import { collect, collectVariables, oneOf, span, wholeNumber } from './option-values.ts';
import type { Field } from './output/table.ts';
import { commandLine, variables } from './output/words.ts';

/** Values of options, by commander's names. */
export type OptionValues = Readonly<Record<string, unknown>>;

/** Adds the options of the settings. `fixed`: adds the settings of creation only, instead of the others. */
export function tableOptions(command: Command, table: Table, { fixed = false } = {}): Command {
  for (const { kind, cli, fixed: isFixed = false } of Object.values(table)) {
    if (!cli || isFixed !== fixed) continue;
    const { option, about, off } = cli;
    const read = readerOf(kind);
    if (read) command.option<unknown>(option, about, read);
    else command.option(option, about).option(option.replace('--', '--no-'), off!);
  }
  return command;
}

/**
 * Returns the settings that the options name. `own`: further values from the command, by the contract's names;
 * `undefined` if not given.
 */
export function optionChanges<Message extends object>(
  table: Table,
  options: OptionValues,
  own: { [Name in keyof Message]?: Message[Name] | undefined },
): Changes<Message> {
  const given = Object.entries(table).flatMap(([field, { kind, cli }]) => {
    const value = cli && options[valueName(cli.option)];
    return value === undefined
      ? []
      : [[field, kind.is === 'switch' ? Object.values(kind.words)[value === true ? 1 : 0] : value] as const];
  });
  return changesOf<Message>({ ...(Object.fromEntries(given) as Partial<Message>), ...own });
}

/** Returns rows for people, for settings that have a row of their own. */
export function tableRows(table: Table, message: object): Field[] {
  const shown = Object.entries(table).filter(([, { cli }]) => cli?.row !== undefined);
  return shown.map(([field, { kind, cli }]) => [cli!.row!, rowText(kind, (message as OptionValues)[field])]);
}

function rowText(kind: Kind, value: unknown): string | undefined {
  if (kind.is === 'variables') return variables(value as Record<string, string>);
  if (kind.is === 'command') return commandLine(value as string[]);
  if (kind.is === 'texts') return (value as string[]).join(', ');
  if (kind.is === 'flag') return value === true ? 'yes' : '';
  return String(value);
}

/** Returns the parser of an option's value. `undefined` if the option takes no value. */
function readerOf(kind: Kind): ((text: string, before: unknown) => unknown) | undefined {
  switch (kind.is) {
    case 'text':
      return (text) => text;
    case 'whole':
      return kind.span ? span : wholeNumber();
    case 'texts':
    case 'command':
      return (text, before) => collect(text, before as string[] | undefined);
    case 'variables':
      return (text, before) => collectVariables(text, before as Record<string, string> | undefined);
    case 'word':
      return oneOf(
        Object.fromEntries(
          Object.entries(kind.words).map(([word, value]) => [word.toLowerCase().replaceAll('_', '-'), value]),
        ),
      );
    default:
      return undefined;
  }
}

/** Converts `--gpu-count <number>` to gpuCount. */
function valueName(option: string): string {
  return option
    .slice('--'.length)
    .split(' ')[0]!
    .replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
