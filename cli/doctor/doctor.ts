/** `slipway doctor`: checks a machine and its way to core, before a part runs there or when it does not work. */
import type { Command } from 'commander';
import { Argument } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import type { DoctorOptions, Part } from './run-doctor.ts';

/** Adds the command. */
export function addDoctor(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'doctor',
    description:
      'Check the way to core: name, port, TLS, clock, key. With a part: also this machine, before the part runs ' +
      'here. Each line says what to do; the exit code is 1 if something fails. Changes nothing.',
    examples: [
      'doctor',
      'doctor agent --join core.example:50051 --core-ca sha256:…',
      'doctor core --data-dir /var/lib/postgresql --json',
    ],
  })
    .addArgument(new Argument('[part]', 'part that runs here').choices(['agent', 'core', 'facade', 'edge']))
    .option('--join <host:port>', 'address of core for an agent; default: as --core')
    .option('--data-dir <folder>', 'folder whose disk is checked; default: folder of the part')
    .option('--containers <socket>', 'container engine of an agent: auto, none, or the address of its socket')
    // Most commands need neither HTTP/2 nor the tables of the network.
    .action(async (part: Part | undefined, options: DoctorOptions) =>
      (await import('./run-doctor.ts')).examine(cli, part, options),
    );
}
