/** `slipway facade`: runs the HTTP facade on this machine, as long as the command runs. */
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import type { FacadeOptions } from '../config.ts';
import { facadeEnv } from '../config.ts';
import { listenAddress, wholeNumber } from '../option-values.ts';
import { coreCaOf } from '../target.ts';
import { runPart } from './run-part.ts';

const PORT_MAX = 65_535;

/** Adds the command. */
export function addFacade(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'facade',
    description:
      'Run the HTTP facade on this machine until Ctrl-C: jobs under /v2, management under /v1 and /graphql. It ' +
      'keeps nothing; run as many as you like. All settings can be variables (docs/operate/operations.md).',
    examples: ['facade', 'facade --core core-1.example:50051,core-2.example:50051 --host 0.0.0.0 --port 80'],
  })
    .option('--host <address>', 'where HTTP listens; default 127.0.0.1')
    .option('--port <port>', 'and its port; default 8080', wholeNumber(0, PORT_MAX))
    .option('--cert-file <file>', 'PEM file of a certificate chain: HTTPS is served; default: HTTP')
    .option('--cert-key-file <file>', 'PEM file of its private key')
    .option(
      '--edge-key-file <file>',
      "file with the edges' key, as core and the edges have it: edges may then send requests straight to workers",
    )
    .option(
      '--metrics <address>',
      'where Prometheus reads /metrics: a port of 127.0.0.1, or host:port; default nowhere',
      listenAddress,
    )
    .action((options: Omit<FacadeOptions, 'core'>) => {
      const { config, targetOptions } = cli;
      return runPart(cli, {
        module: '@slipway/facades/main',
        env: facadeEnv({ ...options, core: targetOptions.core, coreCa: coreCaOf(targetOptions) }, config.workingDir),
      });
    });
}
