/** `slipway machines`. */

import { printable } from '@slipway/kit/log/printable';
import type { MachineStatus } from '@slipway/proto/gen/slipway/v1/machine_service';
import { allPages } from '@slipway/proto/wire/pages';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { count, memory } from '../output/words.ts';
import { addGetMachine } from './get-machine.ts';
import { gpuText, imageSpace, presentMachine, runsText, stateText } from './present-machine.ts';

/** Adds the command. */
export function addMachines(program: Command, cli: Cli): void {
  const machines = addCommand(program, {
    usage: 'machines',
    description: 'List the machines that have joined, and whether they are connected. For the operator.',
    examples: ['machines', 'machines --json', 'machines get rack-1', 'machines forget 4kq0c2m9w1zp'],
  }).action(() => listMachines(cli));
  addGetMachine(machines, cli);
  addCommand(machines, {
    usage: 'forget <id>',
    description:
      'Forget a machine that will not come back. Its workers are lost, its pods are deleted and its key is ' +
      'revoked. For the operator.',
    examples: ['machines forget 4kq0c2m9w1zp'],
  }).action((id: string) => forgetMachine(cli, id));
  addCommand(machines, {
    usage: 'cordon <id>',
    description: 'Place nothing new on a machine; what runs there keeps running. For the operator.',
    examples: ['machines cordon 4kq0c2m9w1zp'],
  }).action((id: string) => cordonMachine(cli, id, true));
  addCommand(machines, {
    usage: 'uncordon <id>',
    description: 'Place workers and pods on a machine again. For the operator.',
    examples: ['machines uncordon 4kq0c2m9w1zp'],
  }).action((id: string) => cordonMachine(cli, id, false));
}

async function cordonMachine(cli: Cli, id: string, cordoned: boolean): Promise<void> {
  await cli.operator.machines.call((client) => client.cordonMachine, { id, cordoned });
  const now = cordoned ? 'accepts no new work; what runs there keeps running' : 'accepts new work again';
  cli.output.result({ id, cordoned }, () => cli.output.line(`Machine ${id} ${now}.`));
}

async function forgetMachine(cli: Cli, id: string): Promise<void> {
  const { lostWorkers, deletedPods } = await cli.operator.machines.call((client) => client.forgetMachine, { id });
  const what = `${count(lostWorkers, 'worker')} lost, ${count(deletedPods, 'pod')} deleted`;
  cli.output.result({ id, lostWorkers, deletedPods }, () => cli.output.line(`Machine ${id} is forgotten: ${what}.`));
}

async function listMachines(cli: Cli): Promise<void> {
  const machines = await allPages(
    (page) => cli.operator.machines.call((client) => client.listMachines, page),
    (response) => response.machines,
  );
  const { output } = cli;
  output.result(machines.map(presentMachine), () => {
    output.table<MachineStatus>(
      [
        { title: 'NAME', text: ({ machine }) => machine!.name },
        { title: 'ID', text: ({ machine }) => machine!.id },
        { title: 'STATE', text: (machine) => stateText(machine, output.nowMs()) },
        { title: 'GPUS', text: ({ machine }) => gpuText(machine!.gpus) },
        { title: 'CPU SLOTS', text: ({ machine }) => String(machine!.cpuSlots), right: true },
        {
          title: 'CPUS',
          text: ({ machine }) => (machine!.cpuCount === 0 ? '' : String(machine!.cpuCount)),
          right: true,
        },
        { title: 'MEMORY', text: ({ machine }) => memory(machine!.memoryMib), right: true },
        { title: 'RUNS', text: ({ machine }) => runsText(machine!) },
        { title: 'LIMITS', text: ({ machine }) => machine!.containerEngine?.limits.join(', ') ?? '' },
        { title: 'IMAGES FREE', text: ({ machine }) => imageSpace(machine!), right: true },
        { title: 'LOCATIONS', text: ({ machine }) => machine!.locations.join(', ') },
        { title: 'CUDA', text: ({ machine }) => machine!.cudaVersion },
        { title: 'AGENT', text: ({ machine }) => machine!.agentVersion },
      ],
      machines,
      'No machine has joined yet; "slipway agent --help" shows how one does.',
    );
    for (const { machine } of machines) {
      for (const { uuid, unhealthy } of machine!.gpus.filter((gpu) => gpu.unhealthy !== '')) {
        output.line(
          '\n' +
            `${output.style('yellow', `${machine!.name} does not use its GPU ${printable(uuid)}`)}: ` +
            `${printable(unhealthy)}`,
        );
      }
      const { name, noEngineReason } = machine!;
      if (noEngineReason !== '')
        output.line(`\n${output.style('yellow', `${name} runs no images`)}: ${printable(noEngineReason)}`);
    }
  });
}
