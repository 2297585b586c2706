/** `slipway machines`. */

import { printable } from '@slipway/kit/log/printable';
import type { MachineStatus } from '@slipway/proto/gen/slipway/v1/machine_service';
import { allPages } from '@slipway/proto/wire/pages';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { span } from '../option-values.ts';
import { count, memory } from '../output/words.ts';
import { WATCH, watched } from '../shared/watch.ts';
import { addGetMachine } from './get-machine.ts';
import { addJoinTokens } from './join-tokens.ts';
import { drainText, gpuText, imageSpace, presentMachine, runsText, stateText } from './present-machine.ts';
import { addReplaceMachine } from './replace-machine.ts';

interface DrainOptions {
  /** Milliseconds. */
  deadline?: number;
  reason?: string;
}

interface CordonOptions {
  /** UUID. */
  gpu?: string;
}

/** Longest time for which a removal waits for the end of a lease, in milliseconds. */
const REMOVAL_MS = 30_000;

/** Adds the command. */
export function addMachines(program: Command, cli: Cli): void {
  const machines = addCommand(program, {
    usage: 'machines',
    description: 'List the machines that have joined; let them join, drain and remove them. For the operator.',
    examples: ['machines list', 'machines get rack-1', 'machines forget rack-1'],
  });
  addCommand(machines, {
    usage: 'list',
    description: 'List the machines that have joined, and whether they are connected. For the operator.',
    examples: ['machines list', 'machines list --watch', 'machines list --json'],
  })
    .option(...WATCH)
    .action(watched(cli, () => listMachines(cli)));
  addGetMachine(machines, cli);
  addJoinTokens(machines, cli);
  addReplaceMachine(machines, cli);
  addCommand(machines, {
    usage: 'forget <machine>',
    description:
      'Forget a machine that will not come back, by id or name. Its workers are lost, its pods are deleted and its ' +
      'key is revoked. For the operator.',
    examples: ['machines forget rack-1'],
  }).action((id: string) => forgetMachine(cli, id, false));
  addCommand(machines, {
    usage: 'remove <machine>',
    description:
      'Remove a machine, by id or name, also while it is connected: its key or certificate is revoked at once, its ' +
      'session ends within seconds, and what runs there starts anew elsewhere. For the operator.',
    examples: ['machines remove rack-1'],
  }).action((id: string) => forgetMachine(cli, id, true));
  addCommand(machines, {
    usage: 'drain <machine>',
    description:
      'Empty a machine, by id or name: nothing new is placed there, its workers finish their jobs and requests and ' +
      'end, and are replaced elsewhere. Pods stay. For the operator.',
    examples: [
      'machines drain rack-1',
      'machines drain rack-1 --deadline 30m --reason "new GPUs"',
      'machines undrain rack-1',
    ],
  })
    .option(
      '--deadline <time>',
      'what still runs then is queued again, without a retry; such as 30m; default: never',
      span,
    )
    .option('--reason <text>', 'for people')
    .action((machine: string, options: DrainOptions) => drainMachine(cli, machine, options));
  addCommand(machines, {
    usage: 'cordon <machine>',
    description:
      'Place nothing new on a machine, by id or name, or on one of its GPUs; what runs there keeps running. For the ' +
      'operator.',
    examples: ['machines cordon rack-1', 'machines cordon rack-1 --gpu GPU-3f1c…'],
  })
    .option('--gpu <uuid>', 'only this GPU')
    .action((id: string, options: CordonOptions) => cordonMachine(cli, id, true, options));
  addCommand(machines, {
    usage: 'uncordon <machine>',
    description:
      'Place workers and pods on a machine again, also after a drain; or on a GPU, also after an error in the kernel ' +
      'log. For the operator.',
    examples: ['machines uncordon rack-1', 'machines undrain rack-1', 'machines uncordon rack-1 --gpu GPU-3f1c…'],
  })
    .alias('undrain')
    .option('--gpu <uuid>', 'only this GPU')
    .action((id: string, options: CordonOptions) => cordonMachine(cli, id, false, options));
}

async function drainMachine(cli: Cli, id: string, { deadline, reason = '' }: DrainOptions): Promise<void> {
  const request = { id, deadlineMs: deadline, reason };
  const status = (await cli.operator.machines.call((client) => client.drainMachine, request)).status!;
  const { name } = status.machine!;
  cli.output.result(presentMachine(status), () =>
    cli.output.line(
      `Machine ${name} is ${drainText(status.drain!, cli.output.nowMs())}; "slipway machines" shows how far it is.`,
    ),
  );
}

async function cordonMachine(cli: Cli, id: string, cordoned: boolean, { gpu = '' }: CordonOptions): Promise<void> {
  await cli.operator.machines.call((client) => client.cordonMachine, { id, cordoned, gpuUuid: gpu });
  const now = cordoned ? 'accepts no new work; what runs there keeps running' : 'accepts new work again';
  const what = gpu === '' ? `Machine ${id}` : `GPU ${gpu} of machine ${id}`;
  cli.output.result({ id, cordoned, ...(gpu !== '' && { gpu }) }, () => cli.output.line(`${what} ${now}.`));
}

async function forgetMachine(cli: Cli, id: string, connected: boolean): Promise<void> {
  const { lostWorkers, deletedPods } = await cli.operator.machines.call(
    (client) => client.forgetMachine,
    { id, connected },
    { waitMs: connected ? REMOVAL_MS : 0 },
  );
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
      'No machine has joined yet; "slipway machines token" prints the line by which one does.',
    );
    for (const { machine } of machines) {
      for (const { uuid, unhealthy, warning } of machine!.gpus.filter((gpu) => gpu.unhealthy + gpu.warning !== '')) {
        const what = unhealthy === '' ? `Warning of ${machine!.name}: GPU` : `${machine!.name} does not use its GPU`;
        output.line(`\n${output.style('yellow', `${what} ${printable(uuid)}`)}: ${printable(unhealthy || warning)}`);
      }
      const { name, noEngineReason } = machine!;
      if (noEngineReason !== '')
        output.line(`\n${output.style('yellow', `${name} runs no images`)}: ${printable(noEngineReason)}`);
    }
  });
}
