/** `slipway machines replace`: removes a machine and prints the line by which its successor joins. */
import type { Machine } from '@slipway/proto/gen/slipway/v1/machine';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { oneOf } from '../option-values.ts';
import { count } from '../output/words.ts';
import type { JoinForm } from './join-line.ts';
import { JOIN_FORMS, joinLine } from './join-line.ts';

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
  const request = { pool, locations: await ownLocations(cli, machine) };
  // First the token: where machines cannot join, none is removed.
  const { text, token, addresses } = await joins.call((client) => client.createJoinToken, request);
  const removed = await machines.call(
    (client) => client.forgetMachine,
    { id, connected: true },
    { waitMs: REMOVAL_MS },
  );
  const line = joinLine(form, { address: address ?? addresses[0]!, token: text, options: ['--name', name] });
  const { output } = cli;
  output.result({ removed: id, ...removed, token: text, tokenId: token!.id, addresses, line }, () => {
    output.line(line);
    output.note(
      `Machine ${name} (${id}) is removed: ${count(removed.lostWorkers, 'worker')} lost, ` +
        `${count(removed.deletedPods, 'pod')} deleted. The line is for one machine, until ` +
        `${token!.expireTime?.toISOString()}; add the options that the agent of ${name} had.`,
    );
  });
}

/** Returns where a machine is by itself, without what it has from its pool. */
async function ownLocations({ operator }: Cli, { locations, pool }: Machine): Promise<string[]> {
  const { pools } = await operator.machines.call((client) => client.listMachinePools, {});
  const fromPool = pools.find(({ name }) => name === pool)?.locations ?? [];
  return locations.filter(
    (location) => !fromPool.includes(location) && !location.startsWith('pool:') && !location.includes('='),
  );
}
