/**
 * `slipway endpoints releases` and `slipway endpoints rollback`: versions of an endpoint, how far each came, and the
 * way back.
 */

import { printable } from '@slipway/kit/log/printable';
import type { Release } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { wholeNumber } from '../option-values.ts';
import type { Column } from '../output/table.ts';
import { bothOf, valueText } from '../output/value-text.ts';
import { ago } from '../output/words.ts';
import { endpointIdOf } from '../shared/find-endpoint.ts';
import { endpointFields, presentEndpoint } from './present-endpoint.ts';

const RELEASES_DEFAULT = 20;

/** Adds the commands to the endpoint commands. */
export function addReleases(endpoints: Command, cli: Cli): void {
  addCommand(endpoints, {
    usage: 'releases [endpoint]',
    description: 'List the releases, newest first: what each changed, and the state of its rollout.',
    examples: ['endpoints releases', 'endpoints releases ocr --json'],
  })
    .option('--limit <number>', 'releases, 1 to 1,000', wholeNumber(), RELEASES_DEFAULT)
    .action((named: string | undefined, { limit }: { limit: number }) => showReleases(cli, named, limit));
  addCommand(endpoints, {
    usage: 'rollback [endpoint]',
    description: 'Serve the last good version again, until the next release. Settings stay as they are.',
    examples: ['endpoints rollback', 'endpoints rollback ocr --to 4'],
  })
    .option(
      '--to <version>',
      'a good version that is still kept; default: the last one before the current release',
      wholeNumber(),
    )
    .action((named: string | undefined, { to }: { to?: number }) => rollBack(cli, named, to));
}

async function showReleases(cli: Cli, named: string | undefined, pageSize: number): Promise<void> {
  const endpointId = await endpointIdOf(cli, named);
  const { releases } = await cli.core.endpoints.call((client) => client.listReleases, {
    endpointId,
    pageSize,
    beforeId: 0,
  });
  const { output } = cli;
  output.result(releases.map(presentRelease), () =>
    output.table(columns(output.nowMs()), releases, 'No change has been recorded yet.'),
  );
}

async function rollBack(cli: Cli, named: string | undefined, version: number | undefined): Promise<void> {
  const id = await endpointIdOf(cli, named);
  const { endpoint } = await cli.core.endpoints.call((client) => client.rollBackEndpoint, { id, version });
  const { output } = cli;
  output.result(presentEndpoint(endpoint!), () => output.fields(endpointFields(endpoint!, output.nowMs())));
}

function presentRelease(release: Release) {
  const {
    version,
    isNew,
    time,
    keyId,
    keyName,
    action,
    fields,
    values,
    outcome,
    outcomeReason,
    imageDigest,
    imageMoved,
  } = release;
  return {
    version,
    isNew,
    at: time?.toISOString(),
    keyId,
    ...(keyName !== '' && { keyName }),
    action,
    fields,
    ...(values.length > 0 && { values: Object.fromEntries(values.map((value) => [value.field, bothOf(value)])) }),
    ...(outcome !== '' && { outcome }),
    ...(outcomeReason !== '' && { outcomeReason }),
    ...(imageDigest !== '' && { imageDigest }),
    ...(imageMoved && { imageMoved }),
  };
}

function columns(nowMs: number): Column<Release>[] {
  return [
    { title: 'VERSION', text: ({ version }) => String(version), right: true },
    { title: 'WHEN', text: ({ time }) => ago(time, nowMs) },
    {
      title: 'WHAT',
      text: ({ action, fields, values }) =>
        [action, action === 'CreateEndpoint' ? '' : fields.map((field) => valueText(field, values)).join(', ')]
          .join(' ')
          .trimEnd(),
    },
    { title: 'BY', text: ({ keyId, keyName }) => keyName || (keyId === 'root' ? 'the operator' : keyId) },
    {
      title: 'IMAGE',
      text: ({ imageDigest, imageMoved }) =>
        `${imageDigest.replace(/^sha256:/, '').slice(0, 12)}${imageMoved ? ' (the tag has moved since)' : ''}`,
    },
    {
      title: 'OUTCOME',
      text: ({ isNew, outcome, outcomeReason }) => (isNew ? `${outcome}${firstLine(outcomeReason)}` : ''),
    },
  ];
}

function firstLine(reason: string): string {
  const [line = ''] = reason.split('\n');
  return line === '' ? '' : `: ${printable(line)}`;
}
