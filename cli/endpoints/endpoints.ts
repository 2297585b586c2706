/** `slipway endpoints`. */

import { ENDPOINT } from '@slipway/facades/resources/endpoints/endpoint-table';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { GetHealthResponse } from '@slipway/proto/gen/slipway/v1/job_service';
import { allPages } from '@slipway/proto/wire/pages';
import { CoreError } from '@slipway/proto/wire/reason';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { UsageError } from '../failures.ts';
import { endpointIdOf } from '../shared/find-endpoint.ts';
import { templateIdOf } from '../shared/find-template.ts';
import { WATCH, watched } from '../shared/watch.ts';
import type { OptionValues } from '../table-options.ts';
import { optionChanges, tableOptions } from '../table-options.ts';
import { addDuplicate } from './duplicate.ts';
import { endpointColumns, endpointFields, presentEndpoint } from './present-endpoint.ts';
import { addReleases } from './releases.ts';
import { restartEndpoint } from './restart-endpoint.ts';
import { showWarnings } from './show-warnings.ts';

/** Options that this file reads itself. The others go through the table. */
interface EndpointOptions extends OptionValues {
  template?: string;
  workersMax?: number;
  retryLimit?: number;
}

/** Adds the commands. An endpoint is named by its id or its name. */
export function addEndpoints(program: Command, cli: Cli): void {
  const endpoints = addCommand(program, {
    usage: 'endpoints',
    description: 'Create, show, change and delete endpoints.',
    examples: [
      'endpoints list',
      'endpoints create --template ocr --name ocr-large --workers-max 5',
      'endpoints update ocr --workers-min 1',
    ],
  });
  addReads(endpoints, cli);
  addChanges(endpoints, cli);
}

function addReads(endpoints: Command, cli: Cli): void {
  addCommand(endpoints, {
    usage: 'list',
    description: 'List the endpoints.',
    examples: ['endpoints list', 'endpoints list --watch', 'endpoints list --json'],
  })
    .option(...WATCH)
    .action(watched(cli, () => listEndpoints(cli)));
  addCommand(endpoints, {
    usage: 'get [endpoint]',
    description: 'Show an endpoint, by id or name.',
    examples: ['endpoints get ocr', 'endpoints get cvedjim4ix3lzj --json'],
  }).action((named: string | undefined) => getEndpoint(cli, named));
  addCommand(endpoints, {
    usage: 'health [endpoint]',
    description: 'Count the jobs and workers of an endpoint.',
    examples: ['endpoints health', 'endpoints health ocr --json'],
  })
    .option(...WATCH)
    .action(watched(cli, (named: string | undefined) => showHealth(cli, named)));
}

function addChanges(endpoints: Command, cli: Cli): void {
  tableOptions(
    tableOptions(
      addCommand(endpoints, {
        usage: 'create',
        description: 'Create an endpoint from a template.',
        examples: [
          'endpoints create --template ocr --name ocr-2',
          'endpoints create --template llm --name chat --gpu "NVIDIA L4" --gpu AMPERE_24 --workers-min ' +
            '1 --env MODEL=small',
        ],
      }).requiredOption('--template <template>', 'template that its workers run, by id or name'),
      ENDPOINT,
    ),
    ENDPOINT,
    { fixed: true },
  ).action((options: EndpointOptions) => createEndpoint(cli, options));
  tableOptions(
    addCommand(endpoints, {
      usage: 'update <endpoint>',
      description: 'Change the named settings only. Workers are replaced if a setting requires it.',
      examples: [
        'endpoints update ocr --workers-min 0 --workers-max 0',
        'endpoints update ocr --env MODE=fast --execution-timeout 2m',
      ],
    }).option('--template <template>', 'template that its workers run, by id or name'),
    ENDPOINT,
  ).action((named: string, options: EndpointOptions) => updateEndpoint(cli, named, options));
  addCommand(endpoints, {
    usage: 'restart [endpoint]',
    description: 'Replace all workers. Each finishes its jobs and stops once a new one is available.',
    examples: ['endpoints restart', 'endpoints restart ocr --wait', 'endpoints restart ocr --now'],
  })
    .option('--now', 'do not wait for new workers: old ones go after their jobs in any case')
    .option('--wait', 'wait until the old workers are gone and workersMin new ones are ready')
    .action((named: string | undefined, options: { wait?: boolean; now?: boolean }) =>
      restartEndpoint(cli, named, options),
    );
  addReleases(endpoints, cli);
  addDuplicate(endpoints, cli);
  addCommand(endpoints, {
    usage: 'delete <endpoint>',
    description: 'Delete an endpoint with its jobs. Its worker counts must be 0.',
    examples: ['endpoints update ocr --workers-min 0 --workers-max 0', 'endpoints delete ocr'],
  }).action((named: string) => deleteEndpoint(cli, named));
}

async function listEndpoints(cli: Cli): Promise<void> {
  const endpoints = await allPages(
    (page) => cli.core.endpoints.call((client) => client.listEndpoints, page),
    ({ endpoints }) => endpoints,
  );
  const { output } = cli;
  output.result(endpoints.map(presentEndpoint), () => {
    const empty = 'There are no endpoints; "slipway endpoints create --help" shows how to make one.';
    output.table(endpointColumns(output.nowMs()), endpoints, empty);
    for (const endpoint of endpoints) showWarnings(output, endpoint);
  });
}

async function getEndpoint(cli: Cli, named: string | undefined): Promise<void> {
  const id = await endpointIdOf(cli, named);
  const { endpoint } = await cli.core.endpoints.call((client) => client.getEndpoint, { id });
  show(cli, endpoint!);
}

async function showHealth(cli: Cli, named: string | undefined): Promise<void> {
  const endpointId = await endpointIdOf(cli, named);
  const { jobs, workers }: GetHealthResponse = await cli.core.jobs.call((client) => client.getHealth, { endpointId });
  const { output } = cli;
  const { inQueue, inProgress, completed, failed, retried } = jobs!;
  const { idle, running, initializing, ready, throttled, unhealthy, throttledReason, cannotRunReason, standby } =
    workers!;
  // Field names of GET /v2/{endpoint_id}/health.
  const document = {
    jobs: { completed, failed, inProgress, inQueue, retried },
    workers: {
      idle,
      initializing,
      ready,
      running,
      throttled,
      unhealthy,
      ...(standby > 0 && { standby }),
      ...(throttledReason === '' ? {} : { throttledReason }),
      ...(cannotRunReason === '' ? {} : { cannotRunReason }),
    },
  };
  output.result(document, () =>
    output.fields([
      [
        'jobs',
        `${inQueue} in queue, ${inProgress} in progress; ever: ${completed} completed, ${failed} failed, ` +
          `${retried} retried`,
      ],
      [
        'workers',
        `${running} running, ${idle} idle, ${initializing} initializing, ${throttled} throttled, ` +
          `${unhealthy} unhealthy`,
      ],
      ['standby', standby > 0 ? String(standby) : ''],
      ['throttled', throttledReason],
      ['cannot run', cannotRunReason],
    ]),
  );
}

async function createEndpoint(cli: Cli, options: EndpointOptions): Promise<void> {
  const { fields } = optionChanges<Endpoint>(ENDPOINT, options, {
    templateId: await templateIdOf(cli, options.template!),
  });
  const { workersMax, retryLimit } = options;
  // The request id makes a repeated call of the transport harmless.
  const request = { endpoint: Endpoint.fromPartial(fields), requestId: cli.random.uuid(), workersMax, retryLimit };
  const { endpoint } = await cli.core.endpoints.call((client) => client.createEndpoint, request);
  show(cli, endpoint!);
}

async function updateEndpoint(cli: Cli, named: string, options: EndpointOptions): Promise<void> {
  const templateId = options.template === undefined ? undefined : await templateIdOf(cli, options.template);
  const { fields, mask } = optionChanges<Endpoint>(ENDPOINT, options, { templateId });
  if (mask.length === 0) throw new UsageError('Name a setting to change, for instance --workers-max 5.');
  const id = await endpointIdOf(cli, named);
  const request = { endpoint: Endpoint.fromPartial({ ...fields, id }), updateMask: mask };
  const { endpoint } = await cli.core.endpoints.call((client) => client.updateEndpoint, request);
  show(cli, endpoint!);
}

async function deleteEndpoint(cli: Cli, named: string): Promise<void> {
  const id = await endpointIdOf(cli, named);
  try {
    await cli.core.endpoints.call((client) => client.deleteEndpoint, { id });
  } catch (error) {
    if (!(error instanceof CoreError) || error.reason !== 'WORKERS_NOT_ZERO') throw error;
    const first = `slipway endpoints update ${id} --workers-min 0 --workers-max 0`;
    const text = `workersMin and workersMax must both be 0 before an endpoint is deleted. First run:\n  ${first}`;
    throw new CoreError(error.reason, text, { cause: error });
  }
  cli.output.result({ id, deleted: true }, () => cli.output.line(`Endpoint ${id} is deleted.`));
}

function show({ output }: Cli, endpoint: Endpoint): void {
  output.result(presentEndpoint(endpoint), () => output.fields(endpointFields(endpoint, output.nowMs())));
}
