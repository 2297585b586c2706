/** `slipway pods`: long-running processes and containers. */

import { POD } from '@slipway/facades/resources/pods/pod-table';
import { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import { allPages } from '@slipway/proto/wire/pages';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { UsageError } from '../failures.ts';
import type { LogTailOptions } from '../machines/worker-log.ts';
import { logOptions, showLog } from '../machines/workers.ts';
import { endpointIdOf } from '../shared/find-endpoint.ts';
import { templateIdOf } from '../shared/find-template.ts';
import { WATCH, watched } from '../shared/watch.ts';
import type { OptionValues } from '../table-options.ts';
import { optionChanges, tableOptions } from '../table-options.ts';
import { podColumns, podFields, presentPod } from './present-pod.ts';

interface ListOptions {
  workers?: boolean;
  endpoint?: string;
}

interface CreateOptions extends OptionValues {
  template?: string;
  image?: string;
}

/** Adds the commands. */
export function addPods(program: Command, cli: Cli): void {
  const pods = addCommand(program, {
    usage: 'pods',
    description: 'Create, show, start, stop and delete pods.',
    examples: [
      'pods list',
      'pods create notebook --compute cpu -- jupyter lab --port 8888',
      'pods logs -f x4kq0c2m9w1zpd',
    ],
  });
  addReads(pods, cli);
  addCreate(pods, cli);
  addActions(pods, cli);
}

function addReads(pods: Command, cli: Cli): void {
  addCommand(pods, {
    usage: 'list',
    description: 'List the pods.',
    examples: ['pods list', 'pods list --workers', 'pods list --endpoint ocr --json'],
  })
    .option('--workers', 'add the workers of endpoints')
    .option('--endpoint <endpoint>', 'only the workers of this endpoint, by id or name')
    .option(...WATCH)
    .action(watched(cli, (options: ListOptions) => listPods(cli, options)));
  addCommand(pods, { usage: 'get <pod>', description: 'Show a pod.', examples: ['pods get x4kq0c2m9w1zpd'] }).action(
    async (id: string) => show(cli, (await cli.core.pods.call((client) => client.getPod, { id })).pod!),
  );
  logOptions(
    addCommand(pods, {
      usage: 'logs <pod>',
      description: 'Show the log of a pod.',
      examples: ['pods logs -f x4kq0c2m9w1zpd'],
    }),
  ).action((id: string, options: LogTailOptions) => {
    const { pods: service } = cli.core;
    return showLog(
      cli,
      async (tailBytes) => (await service.call((client) => client.getPodLog, { id, tailBytes })).log,
      options,
    );
  });
}

function addCreate(pods: Command, cli: Cli): void {
  const create = addCommand(pods, {
    usage: 'create <name> [command...]',
    description: 'Place and start a pod. The command that it runs stands after --.',
    examples: [
      'pods create notebook --compute cpu -- jupyter lab --port 8888',
      'pods create trainer --template trainer --gpu "NVIDIA L4"',
    ],
  }).option('--template <template>', 'defaults for settings not named here; by id or name');
  tableOptions(tableOptions(create, POD), POD, { fixed: true }).action(
    (name: string, command: string[], options: CreateOptions) => createPod(cli, name, command, options),
  );
}

function addActions(pods: Command, cli: Cli): void {
  const add = (word: string, description: string, act: (id: string) => Promise<{ pod: Pod | undefined }>): void => {
    addCommand(pods, { usage: `${word} <pod>`, description, examples: [`pods ${word} x4kq0c2m9w1zpd`] }).action(
      async (id: string) => show(cli, (await act(id)).pod!),
    );
  };
  add('start', 'Let a stopped pod run again on its machine.', (id) =>
    cli.core.pods.call((client) => client.startPod, { id }),
  );
  add('stop', 'Stop a pod; its files stay.', (id) => cli.core.pods.call((client) => client.stopPod, { id }));
  add('restart', 'Start the process of a pod anew; its files stay.', (id) =>
    cli.core.pods.call((client) => client.restartPod, { id }),
  );
  add('reset', 'Start a pod anew with an empty disk.', (id) => cli.core.pods.call((client) => client.resetPod, { id }));
  addCommand(pods, {
    usage: 'delete <pod>',
    description: 'Stop a pod and remove its files.',
    examples: ['pods delete x4kq0c2m9w1zpd'],
  }).action(async (id: string) => {
    await cli.core.pods.call((client) => client.deletePod, { id });
    cli.output.result({ id, deleted: true }, () => cli.output.line(`Pod ${id} is deleted.`));
  });
}

async function listPods(cli: Cli, { workers = false, endpoint }: ListOptions): Promise<void> {
  const endpointId = endpoint === undefined ? '' : await endpointIdOf(cli, endpoint);
  const which = { includeWorkers: workers, endpointId, endpointIds: [] };
  const pods = await allPages(
    (page) => cli.core.pods.call((client) => client.listPods, { ...which, ...page }),
    (response) => response.pods,
  );
  const { output } = cli;
  output.result(pods.map(presentPod), () => output.table(podColumns(output.nowMs()), pods, 'There are no pods.'));
}

async function createPod(cli: Cli, name: string, command: string[], options: CreateOptions): Promise<void> {
  const { template, image } = options;
  if (template === undefined && image === undefined && command.length === 0) {
    throw new UsageError('A pod needs something to run: give --template, --image, or a command after --.');
  }
  const { fields } = optionChanges<Pod>(POD, options, {
    name,
    startCommand: command.length === 0 ? undefined : command,
    templateId: template === undefined ? undefined : await templateIdOf(cli, template),
  });
  const { pod } = await cli.core.pods.call((client) => client.createPod, { pod: Pod.fromPartial(fields) });
  show(cli, pod!);
}

function show({ output }: Cli, pod: Pod): void {
  output.result(presentPod(pod), () => output.fields(podFields(pod, output.nowMs())));
}
