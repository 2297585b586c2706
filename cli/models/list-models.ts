/** `slipway models`: lists which machine has which model. */

import type { CachedModel } from '@slipway/proto/gen/slipway/v1/machine';
import { CachedModelState, ModelFault } from '@slipway/proto/gen/slipway/v1/machine';
import type { MachineModel } from '@slipway/proto/gen/slipway/v1/machine_service';
import { enumName } from '@slipway/proto/wire/enum-name';
import type { Cli } from '../cli.ts';
import type { Output } from '../output/output.ts';
import type { Column } from '../output/table.ts';

const COMMIT_LENGTH_SHOWN = 12;
const BYTES_PER_GB = 1_000_000_000;

/** Returns a size in GB: `2.8 GB`, `15 GB`. Empty if it is not known. */
export function sizeText(bytes: number): string {
  if (bytes === 0) return '';
  const gb = bytes / BYTES_PER_GB;
  return gb < 0.05 ? '< 0.1 GB' : `${gb >= 10 ? Math.round(gb) : Math.round(gb * 10) / 10} GB`;
}

/** Returns the columns about a model. */
export function modelColumns(): Column<CachedModel>[] {
  return [
    { title: 'MODEL', text: ({ repository }) => repository },
    { title: 'REVISION', text: ({ revision }) => revision },
    { title: 'COMMIT', text: ({ commit }) => commit.slice(0, COMMIT_LENGTH_SHOWN) },
    { title: 'STATE', text: modelState },
    { title: 'SIZE', text: ({ sizeBytes }) => sizeText(sizeBytes), right: true },
    { title: 'ACCOUNT', text: ({ accountNumber }) => (accountNumber === 0 ? 'all' : String(accountNumber)) },
    { title: 'ERROR', text: ({ error }) => error.split('\n')[0]!.slice(0, 100) },
  ];
}

/** Returns the record for programs. */
export function presentModel({ state, fault, ...model }: CachedModel) {
  return { ...model, state: enumName(CachedModelState, state), fault: enumName(ModelFault, fault) };
}

/** Lists the models of all machines, or of the machines that have one repository. */
export async function listModels(cli: Cli, repository: string): Promise<void> {
  const { models } = await cli.operator.machines.call((client) => client.listMachineModels, { repository });
  const shown = models.map(({ model, ...machine }) => ({ ...machine, ...presentModel(model!) }));
  cli.output.result(shown, () => showModels(cli.output, models));
}

function showModels(output: Output, models: readonly MachineModel[]): void {
  const columns = modelColumns().map(({ text, ...column }) => ({
    ...column,
    text: ({ model }: MachineModel) => text(model!),
  }));
  output.table<MachineModel>(
    [{ title: 'MACHINE', text: ({ machineName, machineId }) => machineName || machineId }, ...columns],
    models,
    'No machine has a model. An endpoint that refers to one makes its machine download it (--model org/name).',
  );
}

function modelState({ state, sizeBytes, downloadedBytes }: CachedModel): string {
  const word = enumName(CachedModelState, state).toLowerCase();
  if (state !== CachedModelState.DOWNLOADING || sizeBytes === 0) return word;
  return `${word}, ${Math.min(Math.floor((downloadedBytes / sizeBytes) * 100), 99)} %`;
}
