/** `slipway machines`. */
import type { Command } from 'commander';
import type { Gpu } from '../../../proto/gen/slipway/v1/machine.ts';
import type { MachineStatus } from '../../../proto/gen/slipway/v1/machine_service.ts';
import { allPages } from '../../../proto/wire/pages.ts';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { ago, count, memory } from '../output/words.ts';

/** Adds the command. */
export function addMachines(program: Command, cli: Cli): void {
  const machines = addCommand(program, {
    usage: 'machines', description: 'List the machines that ever joined, and whether they are here. For the operator.',
    examples: ['machines', 'machines --json', 'machines forget 4kq0c2m9w1zp'],
  }).action(() => listMachines(cli));
  addCommand(machines, {
    usage: 'forget <id>', description: 'Forget a machine that will not come back: its workers are lost, its pods and its key gone. For the operator.',
    examples: ['machines forget 4kq0c2m9w1zp'],
  }).action((id: string) => forgetMachine(cli, id));
}

async function forgetMachine(cli: Cli, id: string): Promise<void> {
  const { lostWorkers, deletedPods } = await cli.operator.machines.call((client) => client.forgetMachine, { id });
  const what = `${count(lostWorkers, 'worker')} lost, ${count(deletedPods, 'pod')} deleted`;
  cli.output.result({ id, lostWorkers, deletedPods }, () => cli.output.line(`Machine ${id} is forgotten: ${what}.`));
}

async function listMachines(cli: Cli): Promise<void> {
  const machines = await allPages((page) => cli.operator.machines.call((client) => client.listMachines, page), (response) => response.machines);
  const { output } = cli;
  output.result(machines.map(presentMachine), () => output.table<MachineStatus>([
    { title: 'NAME', text: ({ machine }) => machine!.name },
    { title: 'ID', text: ({ machine }) => machine!.id },
    { title: 'STATE', text: ({ connected, seenTime }) => connected ? 'connected' : `gone, seen ${ago(seenTime, output.nowMs())}` },
    { title: 'GPUS', text: ({ machine }) => gpuText(machine!.gpus) },
    { title: 'CPU SLOTS', text: ({ machine }) => String(machine!.cpuSlots), right: true },
    { title: 'CPUS', text: ({ machine }) => machine!.cpuCount === 0 ? '' : String(machine!.cpuCount), right: true },
    { title: 'MEMORY', text: ({ machine }) => memory(machine!.memoryMib), right: true },
    { title: 'LOCATIONS', text: ({ machine }) => machine!.locations.join(', ') },
    { title: 'CUDA', text: ({ machine }) => machine!.cudaVersion },
    { title: 'AGENT', text: ({ machine }) => machine!.agentVersion },
  ], machines, 'No machine has joined yet; "slipway agent --help" shows how one does.'));
}

/** `2 × NVIDIA L4 24 GiB`, each kind once. */
function gpuText(gpus: readonly Gpu[]): string {
  const kinds = gpus.map(({ name, memoryMib, migProfile }) => [name, migProfile, memory(memoryMib)].filter(Boolean).join(' '));
  return [...new Set(kinds)].map((kind) => `${kinds.filter((other) => other === kind).length} × ${kind}`).join(', ');
}

function presentMachine({ machine, connected, seenTime }: MachineStatus) {
  return { ...machine!, connected, seenAt: seenTime?.toISOString() };
}
