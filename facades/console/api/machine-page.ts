/** Feeds a machine's page. For the operator only: core rejects others. */

import type { CachedModel, Worker } from '@slipway/proto/gen/slipway/v1/machine';
import { CachedModelState } from '@slipway/proto/gen/slipway/v1/machine';
import type { GetMachineResponse, MachinePod } from '@slipway/proto/gen/slipway/v1/machine_service';
import { PodState } from '@slipway/proto/gen/slipway/v1/pod';
import { enumName } from '@slipway/proto/wire/enum-name';
import { CoreError } from '@slipway/proto/wire/reason';
import { addAccountNames } from '../account-names.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { FeedSource } from '../live-feeds.ts';
import type { WorkerView } from '../views.ts';
import type { MachineModelView, MachinePageView, MachinePodView } from '../views-of-machines.ts';
import { endedView, workerView } from './endpoint-page.ts';
import { machineView } from './machines.ts';

/** Most workers that are shown. */
const WORKERS_MAX = 200;

/** Returns the feed of a machine. `named`: its id or name. */
export function machinePage({ core, clock }: ConsoleParts, apiKey: string, named: string): FeedSource {
  const names = new Map<string, string>();
  const read = async (signal: AbortSignal): Promise<MachinePageView> => {
    const options = { apiKey, repeatable: true, signal };
    const page = await core.machines.call((client) => client.getMachine, { id: named }, options);
    const id = page.status?.machine?.id;
    if (id === undefined) throw new CoreError('INTERNAL', 'core answered without a machine');
    const selection = { endpointId: '', machines: { ids: [id] }, pageSize: WORKERS_MAX };
    const { workers, recent, ended } = await core.machines.call((client) => client.listWorkers, selection, options);
    const owners = [...workers, ...page.pods, ...page.refusals].map(({ accountId }) => accountId);
    // The next read looks up others.
    await addAccountNames(core, names, owners, options);
    return {
      nowMs: clock.nowMs(),
      ...pageView(page, workers),
      accounts: Object.fromEntries(names),
      workers: workers.map(ofEndpoint),
      recent: recent.map(ofEndpoint),
      ended: ended.map((group) => ({ ...endedView(group), endpointName: group.endpointName })),
    };
  };
  return { read };
}

function pageView(
  page: GetMachineResponse,
  workers: readonly Worker[],
): Omit<MachinePageView, 'nowMs' | 'accounts' | 'workers' | 'recent' | 'ended'> {
  const {
    agentSinceTime,
    keyId,
    keyRevokedTime,
    replicaAddress,
    pods,
    images,
    imageCount,
    imageBytes,
    addresses,
    refusals,
    models,
    modelLimitBytes,
    modelUsedBytes,
  } = page;
  const status = page.status!;
  const { cpuModel, cpuSlots, cudaVersion, runsCommands, noEngineReason, containerEngine: engine } = status.machine!;
  return {
    machine: machineView(status, workers)[0]!,
    agentSinceMs: agentSinceTime?.getTime() ?? 0,
    keyId,
    keyRevokedMs: keyRevokedTime?.getTime() ?? 0,
    replicaAddress,
    cpuModel,
    cpuSlots,
    cudaVersion,
    runsCommands,
    noEngineReason,
    imageTotalMib: engine?.imageTotalMib ?? 0,
    imageFreeMib: engine?.imageFreeMib ?? 0,
    pods: pods.map(podView),
    images: images.map(({ name, digest, sizeBytes }) => ({ name, digest, bytes: sizeBytes })),
    imageCount,
    imageBytes,
    models: models.map(modelView),
    modelLimitBytes,
    modelUsedBytes,
    addresses,
    refusals: refusals.map(({ endpointId, endpointName, accountId, reason, change }) => ({
      endpointId,
      endpointName,
      accountId,
      reason,
      change,
    })),
  };
}

function ofEndpoint(worker: Worker): WorkerView {
  return {
    ...workerView(worker),
    endpoint: { id: worker.endpointId, name: worker.endpointName, accountId: worker.accountId },
  };
}

function modelView({ fault: _fault, state, sizeBytes: bytes, ...model }: CachedModel): MachineModelView {
  const word = enumName(CachedModelState, state);
  return { ...model, state: word, bytes };
}

function podView({
  id,
  name,
  accountId,
  state,
  imageName: image,
  gpuUuids: gpus,
  stateChangeTime,
}: MachinePod): MachinePodView {
  const word = enumName(PodState, state);
  return { id, name, accountId, state: word, image, gpus, sinceMs: stateChangeTime?.getTime() ?? 0 };
}
