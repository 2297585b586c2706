/** `slipway import`: takes over the account of another service that has the same API. */

import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { collect, collectVariables } from '../option-values.ts';
import type { ImportOptions } from './run-import.ts';

/** Adds the command. */
export function addImport(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'import',
    description:
      'Take over endpoints, templates, network volumes, pods, secrets, registry credentials and SSH keys of an ' +
      'account elsewhere. ' +
      'Shows a plan; --apply carries it out. Nothing is changed at the source. Another Slipway shows values of ' +
      'variables only to keys that may change resources; elsewhere a read-only key is enough.',
    examples: [
      'import --from https://api.example.com --key-file source-key.txt',
      'import --from https://api.example.com --key-file source-key.txt --map US-KS-2=home --apply',
      'import --from api.example.com --key-file key.txt --only endpoints/ocr --registry hub=me:token.txt --apply',
    ],
  })
    .requiredOption('--from <address>', 'address of the API there, with or without /v2')
    .requiredOption('--key-file <file>', 'file with an API key of the account there')
    .option('--graphql <url>', 'address of GraphQL there, if it is on another host; it gets the key, too')
    .option('--apply', 'carry out the plan; may be repeated, and continues after an interruption')
    .option(
      '--only <kind[/name]>',
      'only these, and what they need: ssh-keys, secrets, registries, volumes, templates, endpoints, pods',
      collect,
    )
    .option('--exclude <kind[/name]>', 'not these', collect)
    .option(
      '--map <there=here>',
      'what a data centre, GPU pool or GPU type of the source is called here',
      collectVariables,
    )
    .option(
      '--registry <name=user:file>',
      'login for registry credentials, whose passwords the source does not show',
      collect,
    )
    .option('--secrets <file>', 'values of secrets, which the source does not show: lines NAME=value, or JSON')
    .action(async (options: ImportOptions) => {
      // Schemas of REST v2 take longer to load than any other command runs.
      const { runImport } = await import('./run-import.ts');
      await runImport(cli, options);
    });
}
