/** `slipway machines replace`: removes a machine and prints the line by which its successor joins. */
import type { MachinePool } from '@slipway/proto/gen/slipway/v1/machine';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { oneOf } from '../option-values.ts';
import { count } from '../output/words.ts';
import type { JoinForm } from './join-line.ts';
import { JOIN_FORMS, joinLine, UNKNOWN } from './join-line.ts';

interface ReplaceOptions {
  address?: string;
  for: JoinForm;
}

/** Longest time for which a removal waits for the end of a lease, in milliseconds. */
const REMOVAL_MS = 30_000;

/** Adds the command. */
export function addReplaceMachine(machines: Command, cli: Cli): void {
  addCommand(machines, {
    usage: 'replace <machine>',
    description:
      'Remove a machine, by id or name, and print the line by which another one takes its place, with its name, pool ' +
      'and locations. What runs there starts anew elsewhere; drain it first to let that end. For the operator.',
    examples: ['machines drain rack-1', 'machines replace rack-1'],
  })
    .option('--address <host:port>', 'where the new machine reaches core; default: where core says')
    .option('--for <form>', 'how its agent runs: command, systemd or container', oneOf(JOIN_FORMS), JOIN_FORMS.command)
    .action((named: string, options: ReplaceOptions) => replaceMachine(cli, named, options));
}

async function replaceMachine(cli: Cli, named: string, { address, for: form }: ReplaceOptions): Promise<void> {
  const { machines, joins } = cli.operator;
  const machine = (await machines.call((client) => client.getMachine, { id: named })).status!.machine!;
  const { id, name, pool = '' } = machine;
  const { pools } = await machines.call((client) => client.listMachinePools, {});
  const itsPool = pools.find((each) => each.name === pool);
  const request = { pool, locations: tokenLocations(machine.locations, itsPool) };
  // First the token: where machines cannot join, none is removed.
  const { text, token, addresses } = await joins.call((client) => client.createJoinToken, request);
  const line = joinLine(form, { address: address ?? addresses[0] ?? UNKNOWN, token: text, options: ['--name', name] });
  const join = { token: text, tokenId: token!.id, addresses, line };
  const until = token!.expireTime?.toISOString();
  const { output } = cli;
  const removed = await machines
    .call((client) => client.forgetMachine, { id, connected: true }, { waitMs: REMOVAL_MS })
    .catch((error: unknown) => {
      // Core shows the text of a token once: without this, the token could not be used.
      output.result({ removed: null, ...join }, () => {
        output.line(line);
        output.note(
          `Machine ${name} (${id}) may not be removed: run slipway machines remove ${name} first. ` +
            `Then the line is for one machine, until ${until}.`,
        );
      });
      throw error;
    });
  output.result({ removed: id, ...removed, ...join }, () => {
    output.line(line);
    output.note(
      `Machine ${name} (${id}) is removed: ${count(removed.lostWorkers, 'worker')} lost, ` +
        `${count(removed.deletedPods, 'pod')} deleted. The line is for one machine, until ` +
        `${until}; add the options that the agent of ${name} had.`,
    );
  });
}

/**
 * Returns the locations of a token by which another machine comes to the same place. `undefined` pool: none was set. A
 * token without locations leaves them to the pool, now and when they change there.
 */
export function tokenLocations(
  locations: readonly string[],
  pool: Pick<MachinePool, 'locations'> | undefined,
): string[] {
  const plain = locations.filter((location) => !location.startsWith('pool:') && !location.includes('='));
  // A machine has all locations of its pool, or none of them because it names its own.
  const isOfPool = pool?.locations.length === plain.length && plain.every((each) => pool.locations.includes(each));
  return isOfPool ? [] : plain;
}
