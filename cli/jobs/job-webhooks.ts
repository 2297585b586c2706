/** `slipway jobs webhooks` and `jobs redrive`: show the webhook calls of a job, and repeat the newest one. */

import type { WebhookDelivery } from '@slipway/proto/gen/slipway/v1/job_service';
import { WebhookDeliveryState } from '@slipway/proto/gen/slipway/v1/job_service';
import { enumName } from '@slipway/proto/wire/enum-name';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import type { Column } from '../output/table.ts';
import { ago } from '../output/words.ts';
import { endpointIdOf } from '../shared/find-endpoint.ts';

interface EndpointOption {
  endpoint?: string;
}

/** Adds both commands. `option`: the option that names the endpoint. */
export function addWebhooks(jobs: Command, cli: Cli, option: readonly [string, string]): void {
  addCommand(jobs, {
    usage: 'webhooks <job>',
    description: 'List the webhook calls of a job and their state.',
    examples: ['jobs webhooks JOB', 'jobs webhooks JOB --json'],
  })
    .option(...option)
    .action(async (jobId: string, { endpoint }: EndpointOption) => {
      const jobRef = { endpointId: await endpointIdOf(cli, endpoint), jobId };
      const { deliveries } = await cli.core.jobs.call((client) => client.listWebhookDeliveries, jobRef);
      show(cli, deliveries);
    });
  addCommand(jobs, {
    usage: 'redrive <job>',
    description: 'Redeliver the newest webhook of an ended job, with the same id and three tries.',
    examples: ['jobs redrive JOB'],
  })
    .option(...option)
    .action(async (jobId: string, { endpoint }: EndpointOption) => {
      const jobRef = { endpointId: await endpointIdOf(cli, endpoint), jobId };
      const { delivery } = await cli.core.jobs.call((client) => client.redriveWebhook, jobRef);
      show(cli, [delivery!]);
    });
}

function show({ output }: Cli, deliveries: readonly WebhookDelivery[]): void {
  const nowMs = output.nowMs();
  const columns: Column<WebhookDelivery>[] = [
    { title: 'ID', text: ({ id }) => id },
    { title: 'STATE', text: ({ state }) => enumName(WebhookDeliveryState, state) },
    { title: 'TRIES', text: ({ tries }) => String(tries), right: true },
    { title: 'REDRIVEN', text: ({ redrives }) => String(redrives), right: true },
    { title: 'ENDED', text: ({ endTime }) => ago(endTime, nowMs) },
    { title: 'ERROR', text: ({ lastError }) => lastError },
  ];
  output.result({ deliveries: deliveries.map(record) }, () =>
    output.table(columns, deliveries, 'No webhook of this job was called.'),
  );
}

function record({ id, state, tries, lastError, redrives, dueTime, endTime }: WebhookDelivery) {
  return {
    id,
    state: enumName(WebhookDeliveryState, state),
    tries,
    lastError,
    redrives,
    dueTime: dueTime?.toISOString(),
    endTime: endTime?.toISOString(),
  };
}
