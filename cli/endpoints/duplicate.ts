/** `slipway endpoints duplicate`: a new endpoint with the settings of another. */

import { copyOfEndpoint } from '@slipway/facades/resources/endpoints/copy-endpoint';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { retryWhileAway } from '../retry-while-away.ts';
import { endpointIdOf } from '../shared/find-endpoint.ts';
import { endpointFields, presentEndpoint } from './present-endpoint.ts';

/** Adds the command to the endpoint commands. */
export function addDuplicate(endpoints: Command, cli: Cli): void {
  addCommand(endpoints, {
    usage: 'duplicate <endpoint> <name>',
    description:
      'Create an endpoint with all settings of another and a new name. It shares the template, or runs a copy of ' +
      'what the other alone runs. Jobs and the secret of webhooks are not copied.',
    examples: ['endpoints duplicate ocr ocr-test'],
  }).action((named: string, name: string) => duplicate(cli, named, name));
}

async function duplicate(cli: Cli, named: string, name: string): Promise<void> {
  const { core, output } = cli;
  const id = await endpointIdOf(cli, named);
  const { endpoint: source } = await core.endpoints.call((client) => client.getEndpoint, { id, includeTemplate: true });
  const request = { ...copyOfEndpoint(source!, name), requestId: cli.random.uuid() };
  const { endpoint } = await retryWhileAway(cli, () => core.endpoints.call((client) => client.createEndpoint, request));
  output.result(presentEndpoint(endpoint!), () => output.fields(endpointFields(endpoint!, output.nowMs())));
}
