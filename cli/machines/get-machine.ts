/** `slipway machines get`: shows a machine with its workers, pods and images. */

import { printable } from '@slipway/kit/log/printable';
import type { CachedModel, Gpu, Machine, MachineImage, Worker } from '@slipway/proto/gen/slipway/v1/machine';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { GetMachineResponse, GpuEvent, MachinePod } from '@slipway/proto/gen/slipway/v1/machine_service';
import { GpuLevel } from '@slipway/proto/gen/slipway/v1/machine_service';
import { PodState, PodStatus } from '@slipway/proto/gen/slipway/v1/pod';
import { enumName } from '@slipway/proto/wire/enum-name';
import { allPages } from '@slipway/proto/wire/pages';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { modelColumns, presentModel, sizeText } from '../models/list-models.ts';
import type { Output } from '../output/output.ts';
import type { Field } from '../output/table.ts';
import { ago, memory, moment } from '../output/words.ts';
import { labelText } from './pools.ts';
import { imageSpace, loadText, presentMachine, runsText, stateText } from './present-machine.ts';
import { hasLeftGpus, offloadText, standbyText } from './present-standby.ts';

const BYTES_PER_MIB = 1024 * 1024;
/** Changes of GPU health that are shown to people. */
const EVENTS_SHOWN = 10;

/** Workers of the machine: current ones and recently ended ones. */
interface MachineWorkers {
  workers: Worker[];
  recent: Worker[];
}

/** Adds the command. */
export function addGetMachine(machines: Command, cli: Cli): void {
  addCommand(machines, {
    usage: 'get <machine>',
    description: 'Show a machine, by id or name, and what is on it. For the operator.',
    examples: ['machines get rack-1', 'machines get 4kq0c2m9w1zp --json'],
  }).action((named: string) => showMachine(cli, named));
}

async function showMachine(cli: Cli, named: string): Promise<void> {
  const { machines } = cli.operator;
  const page = await machines.call((client) => client.getMachine, { id: named });
  const selection = { endpointId: '', machines: { ids: [page.status!.machine!.id] } };
  const recent: Worker[] = [];
  const workers = await allPages(
    (more) => machines.call((client) => client.listWorkers, { ...selection, ...more }),
    (answer) => {
      recent.push(...answer.recent);
      return answer.workers;
    },
  );
  const { output } = cli;
  output.result(documentOf(page, { workers, recent }), () => {
    output.fields(fieldsOf(page, output.nowMs()));
    showGpus(output, page, workers);
    showGpuEvents(output, page.gpuEvents);
    showWorkers(output, { workers, recent });
    showRest(output, page);
  });
}

function documentOf(page: GetMachineResponse, { workers, recent }: MachineWorkers) {
  const {
    status,
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
    modelPeerAddress,
    gpuEvents,
  } = page;
  return {
    ...presentMachine(status!),
    agentSinceAt: agentSinceTime?.toISOString(),
    keyId,
    keyRevokedAt: keyRevokedTime?.toISOString() ?? null,
    replicaAddress,
    podGpuUuids: status!.podGpuUuids,
    workers: workers.map(presentWorker),
    recent: recent.map(presentWorker),
    pods: pods.map(presentPod),
    images,
    imageCount,
    imageBytes,
    models: models.map(presentModel),
    modelLimitBytes,
    modelUsedBytes,
    modelPeerAddress,
    addresses,
    refusals,
    gpuEvents: gpuEvents.map(({ level, time, ...event }) => ({
      ...event,
      level: enumName(GpuLevel, level),
      at: time?.toISOString(),
    })),
  };
}

function presentWorker({ state, createTime, readyTime, endTime, crashTime, retryTime, ...worker }: Worker) {
  const at = {
    createdAt: createTime?.toISOString(),
    readyAt: readyTime?.toISOString() ?? null,
    endedAt: endTime?.toISOString() ?? null,
    crashedAt: crashTime?.toISOString() ?? null,
    retryAt: retryTime?.toISOString() ?? null,
  };
  return { ...worker, state: enumName(WorkerState, state), ...at };
}

function presentPod({ state, desiredStatus, stateChangeTime, ...pod }: MachinePod) {
  return {
    ...pod,
    state: enumName(PodState, state),
    desiredStatus: enumName(PodStatus, desiredStatus),
    changedAt: stateChangeTime?.toISOString(),
  };
}

function fieldsOf(
  { status, agentSinceTime, keyId, keyRevokedTime, replicaAddress, ...models }: GetMachineResponse,
  nowMs: number,
): Field[] {
  const machine = status!.machine!;
  return [
    ['id', machine.id],
    ['name', machine.name],
    ['state', stateText(status!, nowMs)],
    ['agent', machine.agentVersion],
    ['since', moment(agentSinceTime, nowMs)],
    ['key', keyRevokedTime ? `${keyId}, revoked ${ago(keyRevokedTime, nowMs)}` : keyId],
    ['core', replicaAddress],
    ['pool', machine.pool],
    ['labels', labelText(status!.labels)],
    ['locations', machine.locations.join(', ')],
    ['stays', stayText(machine)],
    ['runs', runsText(machine)],
    ['no engine', machine.noEngineReason],
    ['offload', machine.gpus.length === 0 ? '' : offloadText(machine.gpuOffload)],
    ['processors', machine.cpuCount === 0 ? undefined : `${machine.cpuCount} ${machine.cpuModel}`.trim()],
    ['memory', memory(machine.memoryMib)],
    ['slots', machine.cpuSlots],
    ['CUDA', machine.cudaVersion],
    ['images free', imageSpace(machine)],
    ['models', modelSpace(models)],
  ];
}

/** Returns how long a machine stays; empty if for good. */
function stayText({ ephemeral, leaveTime }: Machine): string {
  const until = leaveTime ? `until ${leaveTime.toISOString()}` : '';
  return [until, ephemeral ? 'forgotten when it leaves' : ''].filter(Boolean).join(', ');
}

/** Returns the disk of cached models: `31 GB of 200 GB`. */
function modelSpace({
  modelLimitBytes,
  modelUsedBytes,
}: Pick<GetMachineResponse, 'modelLimitBytes' | 'modelUsedBytes'>): string {
  if (modelLimitBytes === 0) return 'none: it takes no models';
  return `${sizeText(modelUsedBytes) || '0 GB'} of ${sizeText(modelLimitBytes)}`;
}

function showGpus(output: Output, { status, pods }: GetMachineResponse, workers: readonly Worker[]): void {
  const gpus = status!.machine!.gpus;
  if (gpus.length === 0) return;
  const holder = ({ uuid, occupiedBy }: Gpu): string => {
    const own = workers.filter(({ gpuUuids }) => gpuUuids.includes(uuid));
    // A crashed worker holds no GPU while it waits for its next start.
    const worker = own.find((one) => one.state !== WorkerState.UNHEALTHY && !hasLeftGpus(one));
    if (worker) return `worker ${worker.id} of ${worker.endpointName} (account ${worker.accountId})`;
    const pod = pods.find(({ gpuUuids }) => gpuUuids.includes(uuid));
    return pod ? `pod ${pod.id}, ${pod.name} (account ${pod.accountId})` : occupiedBy || 'free';
  };
  const behind = ({ uuid }: Gpu): string =>
    workers
      .filter((one) => one.gpuUuids.includes(uuid) && hasLeftGpus(one))
      .map(({ endpointName }) => endpointName)
      .join(', ');
  const loads = new Map(status!.gpuLoads.map((load) => [load.uuid, load]));
  output.line('');
  output.table<Gpu>(
    [
      { title: 'GPU', text: ({ uuid }) => uuid },
      {
        title: 'TYPE',
        text: ({ displayName, name, migProfile }) => [displayName || name, migProfile].filter(Boolean).join(' '),
      },
      { title: 'MEMORY', text: ({ memoryMib }) => memory(memoryMib), right: true },
      ...(loads.size === 0 ? [] : [{ title: 'LOAD', text: ({ uuid }: Gpu) => loadText(loads.get(uuid)) }]),
      { title: 'HEALTH', text: healthText },
      { title: 'HELD BY', text: (gpu) => holder(gpu) },
      ...(workers.some(hasLeftGpus) ? [{ title: 'IN HOST MEMORY', text: behind }] : []),
    ],
    gpus,
    '',
  );
}

/** Returns `well`, or what is wrong with a GPU. */
function healthText({ unhealthy, warning }: Gpu): string {
  return unhealthy || (warning === '' ? 'well' : `warning: ${warning}`);
}

/** Shows how the health of the GPUs changed, the latest first. */
function showGpuEvents(output: Output, events: readonly GpuEvent[]): void {
  if (events.length === 0) return;
  output.line('');
  output.table<GpuEvent>(
    [
      { title: 'GPU HEALTH', text: ({ time }) => ago(time, output.nowMs()) },
      { title: 'GPU', text: ({ gpuUuid }) => gpuUuid },
      { title: 'LEVEL', text: ({ level }) => enumName(GpuLevel, level) },
      { title: 'REASON', text: ({ text }) => text },
    ],
    events.slice(0, EVENTS_SHOWN),
    '',
  );
}

/** Shows the workers. Ended ones follow the current ones. */
function showWorkers(output: Output, { workers, recent }: MachineWorkers): void {
  output.line('');
  output.table<Worker>(
    [
      { title: 'WORKER', text: ({ id }) => id },
      { title: 'ENDPOINT', text: ({ endpointName, endpointId }) => endpointName || endpointId },
      { title: 'ACCOUNT', text: ({ accountId }) => accountId },
      {
        title: 'STATE',
        text: (worker) =>
          standbyText(worker) + (worker.endTime ? `, ended ${ago(worker.endTime, output.nowMs())}` : ''),
      },
      { title: 'HOLDS', text: ({ held, capacity, endTime }) => (endTime ? '' : `${held} of ${capacity}`), right: true },
      { title: 'STARTED', text: ({ createTime }) => ago(createTime, output.nowMs()) },
      { title: 'REASON', text: ({ reason }) => reason.trimEnd().split('\n').at(-1)!.slice(0, 100) },
    ],
    [...workers, ...recent],
    'It has no workers.',
  );
}

function showRest(output: Output, { pods, images, imageCount, models, refusals, addresses }: GetMachineResponse): void {
  if (pods.length > 0) output.line('');
  if (pods.length > 0)
    output.table<MachinePod>(
      [
        { title: 'POD', text: ({ id }) => id },
        { title: 'NAME', text: ({ name }) => name },
        { title: 'ACCOUNT', text: ({ accountId }) => accountId },
        { title: 'STATE', text: ({ state }) => enumName(PodState, state) },
        { title: 'IMAGE', text: ({ imageName }) => imageName },
      ],
      pods,
      '',
    );
  if (images.length > 0) output.line('');
  if (images.length > 0)
    output.table<MachineImage>(
      [
        { title: 'IMAGE', text: ({ name }) => name },
        {
          title: 'SIZE',
          text: ({ sizeBytes }) => memory(Math.round(sizeBytes / BYTES_PER_MIB)) || '< 1 MiB',
          right: true,
        },
        { title: 'DIGEST', text: ({ digest }) => digest.slice(0, 19) },
      ],
      images,
      '',
    );
  if (images.length < imageCount) output.note(`The largest ${images.length} of ${imageCount} images.`);
  if (models.length > 0) output.line('');
  if (models.length > 0) output.table<CachedModel>(modelColumns(), models, '');
  for (const { id, port, address } of addresses)
    output.line(printable(`\n${id}${port === '' ? '' : ` port ${port}`} listens at ${address}`, '\n'));
  for (const { endpointName, accountId, reason, change } of refusals) {
    output.line(
      '\n' +
        `${output.style('yellow', printable(`Takes no worker of ${endpointName} (account ${accountId})`))}: ` +
        `${printable(reason)}`,
    );
    output.line(`  ${printable(change)}`);
  }
}
