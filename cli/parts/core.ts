/** `slipway core`: runs a core replica on this machine, as long as the command runs. */

import { CORE_ENVIRONMENT } from '@slipway/kit/host/node-settings';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import type { CoreOptions } from '../config.ts';
import { coreEnv } from '../config.ts';
import { collect, listenAddress } from '../option-values.ts';
import { runPart } from './run-part.ts';

/** Adds the command. */
export function addCore(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'core',
    description:
      'Run core on this machine until Ctrl-C: a replica that brings its database up to date and serves facades ' +
      'and agents. Secrets come by file; all settings can be variables instead (docs/operate/operations.md).',
    examples: [
      'core --database-url-file database-url --secret-key-file secret-key --root-key-file root-key',
      'core --database-url-file database-url --secret-key-file secret-key --listen 0.0.0.0:50051 --advertise ' +
        'core-1.example:50051',
    ],
  })
    .option('--database-url-file <file>', 'file with the postgres:// URL of the database')
    .option(
      '--secret-key-file <file>',
      'file with the 64 hex digits that seal secrets in the database; the same for all replicas',
    )
    .option('--next-secret-key-file <file>', 'another such key, while slipway secret-key rotate exchanges the two')
    .option(
      '--root-key-file <file>',
      "file with the operator's key, 20 characters or more; without it accounts and agent keys cannot be made",
    )
    .option(
      '--previous-root-key-file <file>',
      "the operator's key before that one, valid too while the two are exchanged",
    )
    .option(
      '--edge-key-file <file>',
      "file with the edges' key, 20 characters or more; without it no edge learns where workers are",
    )
    .option(
      '--listen <addresses>',
      'where it listens, host:port, several with commas: by TLS, except on loopback; default 127.0.0.1:50051',
    )
    .option('--tls-name <name>', 'DNS name or address for its certificate, besides those it finds; may repeat', collect)
    .option('--tls-cert-file <file>', "your own certificate with its chain, in place of the installation's")
    .option('--tls-key-file <file>', 'and its private key')
    .option('--insecure-plaintext', 'no TLS on any address: anyone on the network path can read all keys')
    .option('--advertise <host:port>', 'where other replicas reach it; default: where it listens')
    .option(
      '--allow-newer-database',
      'to go back to this release: run on a database that a newer one has migrated, if that one allows it ' +
        '(slipway version --rollback)',
    )
    .option(
      '--metrics <address>',
      'where Prometheus reads /metrics: a port of 127.0.0.1, or host:port; default nowhere',
      listenAddress,
    )
    .action((options: CoreOptions) =>
      runPart(cli, {
        module: '@slipway/core/main',
        env: { ...CORE_ENVIRONMENT, ...coreEnv(options, cli.config.workingDir) },
      }),
    );
}
