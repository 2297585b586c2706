/** `slipway edge`: runs an Envoy in front of everything, as long as the command runs. */

import type { Command } from 'commander';
import { Option } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import type { EdgeOptions } from '../config.ts';
import { edgeEnv } from '../config.ts';
import { listenAddress, wholeNumber } from '../option-values.ts';
import { coreCaOf } from '../target.ts';
import { runPart } from './run-part.ts';

interface EdgeCommandOptions extends EdgeOptions {
  print?: true;
  validate?: true;
  write?: true;
  takeOver?: true;
}

const PROXIES_MAX = 10;

const EXAMPLES: readonly string[] = [
  'edge --listen 0.0.0.0:443 --cert-file tls/fullchain.pem --cert-key-file tls/privkey.pem --facades ' +
    '10.0.0.2:8080,10.0.0.3:8080',
  'edge --cert-file tls/cert.pem --cert-key-file tls/key.pem --agent-listen 0.0.0.0:8444 --agent-ca-file ' +
    'agents-ca.pem --listen 0.0.0.0:443',
  'edge --listen 127.0.0.1:8443 --core 10.0.0.4:50051 --core-ca sha256:0c1d… --join-listen 0.0.0.0:8446',
  'edge --listen 127.0.0.1:8443 --print',
  'edge --cert-file tls/cert.pem --cert-key-file tls/key.pem --listen 0.0.0.0:443 --validate',
  'edge --take-over',
];

/** Adds the command. */
export function addEdge(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'edge',
    description:
      'Run Envoy in front of facades and core until Ctrl-C: TLS, HTTP/2, gRPC, flood protection and an access ' +
      "log without keys. The configuration is made from the project's own limits, and Envoy validates it before " +
      'it runs (docs/operate/operations.md).',
    examples: EXAMPLES,
  })
    .option('--listen <host:port>', 'where clients reach it; default 127.0.0.1:8443')
    .option('--cert-file <file>', 'PEM file of the certificate chain; without it only loopback addresses are allowed')
    .option('--cert-key-file <file>', 'PEM file of its private key')
    .option('--facades <addresses>', 'host:port of each facade, separated by commas; default 127.0.0.1:8080')
    .option('--grpc-listen <host:port>', 'where internal services reach core by gRPC; default nowhere')
    .option('--agent-listen <host:port>', 'where agents reach core; default nowhere')
    .option(
      '--join-listen <host:port>',
      'where machines that join by a token reach core, whose TLS is passed through; needs --core-ca; default nowhere',
    )
    .option(
      '--agent-ca-file <file>',
      'PEM file of the authority that signs the certificates of agents; without it only their keys are checked',
    )
    .option(
      '--agent-uri-prefix <text>',
      'start of the URI that such a certificate must name, as spiffe://example/agent/',
    )
    .option(
      '--edge-key-file <file>',
      "file with the edges' key, as core has it: core then reports the backends of load-balancing endpoints",
    )
    .option(
      '--metrics <address>',
      'where Prometheus reads /metrics: a port of 127.0.0.1, or host:port; default nowhere',
      listenAddress,
    )
    .addOption(new Option('--metrics-listen <address>', 'what --metrics was called').hideHelp())
    .option(
      '--trusted-proxies <number>',
      'number of proxies in front whose X-Forwarded-For is trusted; default 0',
      wholeNumber(0, PROXIES_MAX),
    )
    .option(
      '--requests-per-address <number>',
      'most requests of one client address in 10 s; default 20000',
      wholeNumber(1),
    )
    .option('--data-dir <folder>', 'folder of the rendered configuration, one for each edge; default .slipway/edge')
    .option('--envoy <file>', 'the Envoy binary; default: from the Python environment, or the PATH')
    .option('--no-access-log', 'do not log requests')
    .option('--print', 'show the configuration and exit')
    .option(
      '--validate',
      'ask Envoy to validate the configuration, and exit: 0 if it is valid, else 2; a running edge is not affected',
    )
    .option('--write', 'write the configuration for an Envoy that you run yourself to --data-dir, show where, and exit')
    .option('--take-over', 'replace the running edge with the same --data-dir, without a failed request')
    .action((options: EdgeCommandOptions) =>
      runPart(cli, {
        module: '@slipway/edge/main',
        args: modeFlags(options),
        env: edgeEnv(
          { ...options, core: cli.targetOptions.core, coreCa: coreCaOf(cli.targetOptions) },
          cli.config.workingDir,
        ),
      }),
    );
}

/** Returns the flags that choose what the edge program does instead of, or before, serving. */
function modeFlags({ print, validate, write, takeOver }: EdgeCommandOptions): string[] {
  return [
    ...(print ? ['--print'] : []),
    ...(validate ? ['--validate'] : []),
    ...(write ? ['--write'] : []),
    ...(takeOver ? ['--take-over'] : []),
  ];
}
