/** How commands are declared: each has a description and examples, and its help shows both. */
import type { Command } from 'commander';

/** A command to declare. */
export interface CommandSpec {
  /** Its word and arguments as commander reads them, for instance `get <endpoint>`. */
  usage: string;
  /** What it does, one sentence. */
  description: string;
  /** Command lines; `slipway` is put before those that do not name it themselves. */
  examples: readonly string[];
}

/** Adds a command to another. */
export function addCommand(parent: Command, { usage, description, examples }: CommandSpec): Command {
  const command = parent.command(usage).description(description).helpCommand(false);
  const lines = examples.map((line) => (line.includes('slipway ') ? `  $ ${line}` : `  $ slipway ${line}`));
  command.addHelpText('after', `\nExample${examples.length === 1 ? '' : 's'}:\n${lines.join('\n')}`);
  return command;
}
