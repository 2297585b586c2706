/** Declares commands. Each has a description and examples, and its help shows both. */
import type { Command } from 'commander';

/** Declaration of a command. */
interface CommandSpec {
  /** Name and arguments in the syntax of commander, for instance `get <endpoint>`. */
  usage: string;
  /** Purpose of the command in one sentence. */
  description: string;
  /** Example command lines. `slipway` is prepended to lines that do not contain it. */
  examples: readonly string[];
}

/** Adds a command to another. */
export function addCommand(parent: Command, { usage, description, examples }: CommandSpec): Command {
  const command = parent.command(usage).description(description).helpCommand(false);
  const lines = examples.map((line) => (line.includes('slipway ') ? `  $ ${line}` : `  $ slipway ${line}`));
  command.addHelpText('after', `\nExample${examples.length === 1 ? '' : 's'}:\n${lines.join('\n')}`);
  return command;
}
