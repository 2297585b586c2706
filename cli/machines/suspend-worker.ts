/** `slipway workers suspend` and `slipway workers resume`: frees the GPUs of a worker for the operator. */

import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';

/** Adds the commands. */
export function addSuspensions(workers: Command, cli: Cli): void {
  addCommand(workers, {
    usage: 'suspend <worker>',
    description:
      'Free the GPUs of a worker: it finishes its jobs, its GPU memory moves to host memory, and nothing is placed ' +
      'on its GPUs until it is resumed. For the operator.',
    examples: ['workers suspend x4kq0c2m9w1zpd'],
  }).action((id: string) => suspend(cli, id));
  addCommand(workers, {
    usage: 'resume <worker>',
    description: 'Resume a suspended worker. Its GPUs must be free by then. For the operator.',
    examples: ['workers resume x4kq0c2m9w1zpd'],
  }).action((id: string) => resume(cli, id));
}

async function suspend(cli: Cli, workerId: string): Promise<void> {
  await cli.operator.machines.call((client) => client.suspendWorker, { workerId });
  cli.output.result({ id: workerId, suspended: true }, () =>
    cli.output.line(`Worker ${workerId} leaves its GPUs; "slipway workers list" shows when it is in host memory.`),
  );
}

async function resume(cli: Cli, workerId: string): Promise<void> {
  await cli.operator.machines.call((client) => client.resumeWorker, { workerId });
  cli.output.result({ id: workerId, suspended: false }, () => cli.output.line(`Worker ${workerId} resumes.`));
}
