/** `slipway pools`: labels, locations and settings of machines that joined with tokens of one name. */
import type { MachinePool, MachineSettings } from '@slipway/proto/gen/slipway/v1/machine';
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { collect, collectVariables } from '../option-values.ts';
import { WATCH, watched } from '../shared/watch.ts';

/** Value of an option that removes a setting. */
const DEFAULT = 'default';

interface PoolOptions {
  label?: Record<string, string>;
  location?: string[];
  standbyMax?: Setting;
  standbyMemory?: Setting;
  modelDisk?: Setting;
  imageDisk?: Setting;
}

type Setting = number | typeof DEFAULT;

/** Adds the commands. */
export function addPools(program: Command, cli: Cli): void {
  const pools = addCommand(program, {
    usage: 'pools',
    description: 'List and set what machines have in common that joined with tokens of one pool. For the operator.',
    examples: ['pools set rack-2 --label tier=fast --model-disk 500', 'machines token --pool rack-2', 'pools list'],
  });
  addCommand(pools, {
    usage: 'list',
    description: 'List the pools with their machines, labels, locations and settings. For the operator.',
    examples: ['pools list', 'pools list --json'],
  })
    .option(...WATCH)
    .action(watched(cli, () => listPools(cli)));
  addCommand(pools, {
    usage: 'set <pool>',
    description:
      'Create or change a pool. Machines that have joined get labels and locations at once and settings within ' +
      'seconds; an option of their own agent precedes. For the operator.',
    examples: [
      'pools set rack-2 --label tier=fast --label owner=vision',
      'pools set rack-2 --location eu-1 --standby-memory 64 --model-disk 500',
      'pools set rack-2 --label "" --model-disk default',
    ],
  })
    .option(
      '--label <NAME=VALUE>',
      'label of the machines; endpoints choose them with --location NAME=VALUE; may repeat; replaces all; "" for none',
      collectVariables,
    )
    .option(
      '--location <location>',
      'country code or data centre of machines that name none; may repeat; replaces all; "" for none',
      collect,
    )
    .option('--standby-max <number>', 'most workers on standby (FlashBoot), or default', setting)
    .option('--standby-memory <GB>', 'host memory for GPU memory on standby, or default', setting)
    .option('--model-disk <GB>', 'disk for models, 0 for none, or default', setting)
    .option('--image-disk <GB>', 'disk for pulled images, 0 for as much as there is, or default', setting)
    .action((name: string, options: PoolOptions) => setPool(cli, name, options));
  addCommand(pools, {
    usage: 'delete <pool>',
    description:
      'Delete a pool. Its machines stay, keep the location pool:NAME, and lose its labels, locations and settings. ' +
      'For the operator.',
    examples: ['pools delete rack-2'],
  })
    .alias('rm')
    .action(async (name: string) => {
      await cli.operator.machines.call((client) => client.deleteMachinePool, { name });
      cli.output.result({ name, deleted: true }, () => cli.output.line(`Pool ${name} is deleted; its machines stay.`));
    });
}

async function listPools(cli: Cli): Promise<void> {
  const { pools } = await cli.operator.machines.call((client) => client.listMachinePools, {});
  showPools(cli, pools, pools.map(presentPool));
}

async function setPool(cli: Cli, name: string, options: PoolOptions): Promise<void> {
  const { label: labels, location: locations, standbyMax, standbyMemory, modelDisk, imageDisk } = options;
  const named = { standbyMax, standbyMemoryGb: standbyMemory, modelDiskGb: modelDisk, imageDiskGb: imageDisk };
  const given = Object.entries(named).filter(([, value]) => value !== undefined);
  const settings = Object.fromEntries(given.filter(([, value]) => value !== DEFAULT)) as MachineSettings;
  const updateMask = [
    ...(labels ? ['labels'] : []),
    ...(locations ? ['locations'] : []),
    ...given.map(([setting]) => `settings.${setting.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`),
  ];
  const pool = { name, labels: labels ?? {}, locations: locations ?? [], settings, machines: 0 };
  const answer = await cli.operator.machines.call((client) => client.setMachinePool, { pool, updateMask });
  showPools(cli, [answer.pool!], presentPool(answer.pool!));
}

function showPools({ output }: Cli, pools: MachinePool[], document: unknown): void {
  output.result(document, () =>
    output.table<MachinePool>(
      [
        { title: 'POOL', text: ({ name }) => name },
        { title: 'MACHINES', text: ({ machines }) => String(machines), right: true },
        { title: 'LABELS', text: ({ labels }) => labelText(labels) },
        { title: 'LOCATIONS', text: ({ locations }) => locations.join(', ') },
        { title: 'SETTINGS', text: ({ settings }) => settingsText(settings) },
      ],
      pools,
      'There are no pools. "slipway pools set --help" shows how to make one.',
    ),
  );
}

/** Returns labels as `owner=vision, tier=fast`. */
export function labelText(labels: Readonly<Record<string, string>>): string {
  return Object.keys(labels)
    .sort()
    .map((name) => `${name}=${labels[name]}`)
    .join(', ');
}

/** Returns the settings as their options: `--standby-memory 64, --model-disk 500`. */
function settingsText(settings: MachineSettings | undefined): string {
  const { standbyMax, standbyMemoryGb, modelDiskGb, imageDiskGb } = settings ?? {};
  const options: [string, number | undefined][] = [
    ['--standby-max', standbyMax],
    ['--standby-memory', standbyMemoryGb],
    ['--model-disk', modelDiskGb],
    ['--image-disk', imageDiskGb],
  ];
  return options.flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`])).join(', ');
}

function presentPool({ settings = {}, ...pool }: MachinePool) {
  return { ...pool, settings };
}

/** Reads a number, or the word that removes a setting. */
function setting(text: string): Setting {
  if (text === DEFAULT || /^\d{1,7}$/.test(text)) return text === DEFAULT ? DEFAULT : Number(text);
  throw new InvalidArgumentError(`It must be a number, or ${DEFAULT}.`);
}
