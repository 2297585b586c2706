/** `slipway start`: runs all of Slipway on this machine, as long as the command runs. */
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { runPart } from './run-part.ts';

/** Options of `dev/options.ts`, which checks them. */
type StartOptions = Record<string, string | true>;

/** Adds the command. */
export function addStart(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'start',
    description:
      'Run all of Slipway on this machine until Ctrl-C: PostgreSQL, core, a facade and an agent, with an endpoint ' +
      'that is ready for jobs. What `npm start` is in the project.',
    examples: ['start', 'start --handler handler.py --port 8081', 'start --data-dir /var/lib/slipway'],
  })
    .option('--handler <file>', 'serve your own handler (.py, .js, .ts) instead of the example')
    .option('--lb', 'the handler is an HTTP server; requests go directly to it')
    .option('--port <port>', 'port of the HTTP address; default 8080')
    .option('--data-dir <folder>', 'where data, keys and logs are kept; default .slipway')
    .option('--database-url <url>', 'use this PostgreSQL, 15 or newer, instead of an embedded one')
    .option('--database-url-file <file>', 'the same, from a file, which other users of the machine cannot see')
    .option('--no-agent', 'run no agent here; join machines yourself')
    .option('--webhooks-to-private', 'webhooks of all accounts may go to private addresses')
    .option('--metrics <port>', 'serve metrics: core at this port of 127.0.0.1, the facade at the next, then the agent')
    .option('--quiet', 'print no lines about jobs that ended and workers that crashed')
    .action((options: StartOptions & { agent: boolean }) =>
      runPart(cli, { module: '@slipway/dev/start', args: argumentsOf(options), env: {} }),
    );
}

function argumentsOf({ agent, ...options }: Record<string, string | boolean>): string[] {
  const given = Object.entries(options).flatMap(([name, value]) => {
    const option = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    return value === true ? [option] : [option, String(value)];
  });
  return agent ? given : [...given, '--no-agent'];
}
