/** `slipway completion`: lets shells complete commands, options, and names of what is there. */

import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { candidatesFor } from './candidates.ts';
import { SCRIPTS } from './scripts.ts';

const INSTALL: Readonly<Record<keyof typeof SCRIPTS, string>> = {
  bash: 'completion bash > ~/.local/share/bash-completion/completions/slipway',
  zsh: 'completion zsh > ~/.zfunc/_slipway',
  fish: 'completion fish > ~/.config/fish/completions/slipway.fish',
};

/** Adds the commands. */
export function addCompletion(program: Command, cli: Cli): void {
  const completion = addCommand(program, {
    usage: 'completion',
    description: 'Write the script by which a shell completes slipway: commands, options, and names of what is there.',
    examples: Object.values(INSTALL),
  });
  for (const [shell, script] of Object.entries(SCRIPTS))
    addCommand(completion, {
      usage: shell,
      description: `Write the script for ${shell}.`,
      examples: [INSTALL[shell as keyof typeof SCRIPTS]],
    }).action(() => cli.output.text(script));
  addCommand(completion, {
    usage: 'words [words...]',
    description: 'Write what the last of these words can become, one a line with its meaning. The scripts call it.',
    examples: ['completion words -- jobs li'],
  }).action(async (words: string[]) => {
    const candidates = await candidatesFor(cli, program, words);
    cli.output.result(candidates, () => {
      for (const { word, about } of candidates) cli.output.line(about === '' ? word : `${word}\t${about}`);
    });
  });
}
