/** `slipway volumes`: network volumes. */

import { presentVolume } from '@slipway/facades/resources/volumes/present-volume';
import { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import { allPages } from '@slipway/proto/wire/pages';
import type { Command } from 'commander';
import { changesOf } from '../changes.ts';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { UsageError } from '../failures.ts';
import { wholeNumber } from '../option-values.ts';
import { ago } from '../output/words.ts';
import { WATCH, watched } from '../shared/watch.ts';

interface VolumeOptions {
  name?: string;
  size?: number;
  dataCenter?: string;
}

/** Adds the commands. */
export function addVolumes(program: Command, cli: Cli): void {
  const volumes = addCommand(program, {
    usage: 'volumes',
    description: 'Create, list, grow and delete network volumes.',
    examples: [
      'volumes create models --size 100 --data-center eu-1',
      'volumes list',
      'volumes update k3j9x0a2bq --size 200',
    ],
  });
  addCommand(volumes, {
    usage: 'list',
    description: 'List the network volumes.',
    examples: ['volumes list --json'],
  })
    .option(...WATCH)
    .action(watched(cli, () => listVolumes(cli)));
  addCommand(volumes, {
    usage: 'create <name>',
    description: 'Create a network volume. Workers in its data centre see it at /runpod-volume.',
    examples: ['volumes create models --size 100 --data-center eu-1'],
  })
    .requiredOption('--size <gb>', 'size in GB', wholeNumber())
    .requiredOption('--data-center <id>', 'where it is; machines there carry the same --location')
    .action(async (name: string, { size = 0, dataCenter = '' }: VolumeOptions) => {
      const networkVolume = NetworkVolume.fromPartial({ name, sizeGb: size, dataCenterId: dataCenter });
      const created = await cli.core.volumes.call((client) => client.createNetworkVolume, { networkVolume });
      show(cli, [created.networkVolume!], presentVolume(created.networkVolume!));
    });
  addCommand(volumes, {
    usage: 'update <id>',
    description: 'Rename or grow a network volume.',
    examples: ['volumes update k3j9x0a2bq --size 200'],
  })
    .option('--name <name>', 'a new name')
    .option('--size <gb>', 'a larger size in GB', wholeNumber())
    .action((id: string, options: VolumeOptions) => updateVolume(cli, id, options));
  addCommand(volumes, {
    usage: 'delete <id>',
    description: 'Delete a network volume that nothing uses.',
    examples: ['volumes delete k3j9x0a2bq'],
  }).action(async (id: string) => {
    await cli.core.volumes.call((client) => client.deleteNetworkVolume, { id });
    cli.output.result({ id, deleted: true }, () =>
      cli.output.line(`Volume ${id} is deleted; its files stay on their machines.`),
    );
  });
}

async function listVolumes(cli: Cli): Promise<void> {
  const networkVolumes = await allPages(
    (page) => cli.core.volumes.call((client) => client.listNetworkVolumes, page),
    ({ networkVolumes }) => networkVolumes,
  );
  show(cli, networkVolumes, networkVolumes.map(presentVolume));
  cli.output.note(
    'Sizes are held on machines with the limit `volume` only; elsewhere a volume takes what the disk has.',
  );
}

async function updateVolume(cli: Cli, id: string, { name, size }: VolumeOptions): Promise<void> {
  const { fields, mask } = changesOf<NetworkVolume>({ name, sizeGb: size });
  if (mask.length === 0) throw new UsageError('Name a setting to change: --name or --size.');
  const request = { networkVolume: NetworkVolume.fromPartial({ ...fields, id }), updateMask: mask };
  const { networkVolume } = await cli.core.volumes.call((client) => client.updateNetworkVolume, request);
  show(cli, [networkVolume!], presentVolume(networkVolume!));
}

function show({ output }: Cli, volumes: readonly NetworkVolume[], document: unknown): void {
  output.result(document, () =>
    output.table<NetworkVolume>(
      [
        { title: 'ID', text: ({ id }) => id },
        { title: 'NAME', text: ({ name }) => name },
        { title: 'SIZE', text: ({ sizeGb }) => `${sizeGb} GB`, right: true },
        { title: 'DATA CENTRE', text: ({ dataCenterId }) => dataCenterId },
        { title: 'CREATED', text: ({ createTime }) => ago(createTime, output.nowMs()) },
      ],
      volumes,
      'There are no network volumes.',
    ),
  );
}
