/**
 * Settings in words and units that people use, and the groups in which forms show them. A setting without an entry is
 * shown under its name in REST, in the last group.
 */
import type { FieldView } from '../../../views.ts';

/** How a setting is shown. */
interface SettingText {
  label: string;
  /** Unit behind the input. */
  unit?: string;
  /** How many of the setting's own unit are one of `unit`. Default 1. */
  scale?: number;
  /** Replaces the description of the table, which speaks of other surfaces. */
  about?: string;
  /** Only shown if this returns true for the values. */
  when?: (values: Readonly<Record<string, unknown>>) => boolean;
  /** Words of a choice for people. */
  words?: Readonly<Record<string, string>>;
}

const isGpu = (values: Readonly<Record<string, unknown>>): boolean => values['computeType'] !== 'CPU';
const isQueue = (values: Readonly<Record<string, unknown>>): boolean => values['type'] !== 'LB';

/** Texts by the names of REST. */
const TEXTS: Readonly<Record<string, SettingText>> = {
  name: { label: 'Name', about: 'For people.' },
  templateId: { label: 'Template', about: 'The program of its workers. A change of the template replaces them.' },
  type: {
    label: 'Requests',
    about: 'Cannot be changed later.',
    words: { QB: 'wait in a queue as jobs', LB: 'go straight to HTTP servers (load balancing)' },
  },
  computeType: {
    label: 'Runs on',
    about: 'Cannot be changed later.',
    words: { GPU: 'GPUs', CPU: 'machines without a GPU' },
  },
  gpuTypeIds: { label: 'GPU types', about: 'The first free one is used. None chosen: any type.', when: isGpu },
  gpuCount: { label: 'GPUs of each worker', about: '', when: isGpu },
  allowedCudaVersions: {
    label: 'CUDA versions',
    about: 'The machine supports at least one of them. Empty: any.',
    when: isGpu,
  },
  dataCenterIds: { label: 'Locations', about: 'Data centres or country codes, separated by commas. Empty: anywhere.' },
  workersMin: { label: 'Workers kept warm', about: 'They run even without work. 0: the first job waits for a start.' },
  workersMax: { label: 'Most workers', about: '0 pauses the endpoint: jobs are accepted and wait.' },
  idleTimeout: { label: 'An idle worker stops after', unit: 'seconds', about: '' },
  flashboot: {
    label: 'FlashBoot',
    about: 'Idle workers are frozen instead of stopped, and resume within milliseconds.',
    when: isQueue,
  },
  flashBootStandby: {
    label: 'Frozen workers keep their GPU memory',
    about: '',
    words: { AUTO: 'on the GPU until others need it', GPU: 'on the GPU', HOST: 'in host memory' },
    when: (values) => isQueue(values) && values['flashboot'] === true,
  },
  scalerType: {
    label: 'Workers are added',
    about: '',
    words: {
      QUEUE_DELAY: 'when jobs wait too long',
      REQUEST_COUNT: 'by the number of jobs or requests',
      SLO: 'to meet a longest wait with few workers',
    },
  },
  scalerValue: {
    label: 'Target',
    about: 'Seconds that a job may wait, or jobs (requests) for each worker, by the choice above.',
  },
  executionTimeoutMs: { label: 'Longest run of a job', unit: 'seconds', scale: 1_000, about: '' },
  workerConcurrency: {
    label: 'Jobs at once on a worker',
    about: 'Unless its SDK sets that itself. With load balancing: requests at once.',
  },
  exampleInput: { label: 'Example input', about: 'As JSON: the console and code samples show it.' },
  retryLimit: { label: 'Retries of a job whose worker was lost', about: '', when: isQueue },
  retryHandlerErrors: {
    label: 'Retry errors of the handler too',
    about: 'Else such a job is failed at once.',
    when: isQueue,
  },
  durableBeforeRun: {
    label: 'Store every job before it runs',
    about: 'Else a short /runsync is stored with its outcome.',
    when: isQueue,
  },
  env: { label: 'Environment variables', about: '' },
  networkVolumeIds: { label: 'Network volumes', about: 'At most one of each data centre.' },
  modelReferences: {
    label: 'Cached models',
    about: 'Hugging Face repositories as org/name, separated by commas. Machines download them once.',
  },
  modelAliases: { label: 'Model names', about: 'Names by which OpenAI clients select it, separated by commas.' },
  modelWeight: { label: 'Share of a name’s requests', about: 'Against other endpoints with the same name.' },
  modelQueueMax: {
    label: 'Longest queue for shared names',
    about: 'Above it requests go to other endpoints. 0: no limit.',
  },
  imageName: {
    label: 'Container image',
    about: 'As registry.example/me/app:1. Empty: the command runs on the host, where that is allowed.',
  },
  dockerStartCmd: { label: 'Command', about: 'One argument per line. Empty: value of the image.' },
  dockerEntrypoint: { label: 'Entry point', about: 'One argument per line. Empty: value of the image.' },
  workingDirectory: { label: 'Working directory', about: 'Of a command without an image.' },
  containerDiskInGb: { label: 'Disk of the container', unit: 'GB', about: '' },
  volumeInGb: { label: 'Volume of a pod', unit: 'GB', about: '0 for endpoints.' },
  volumeMountPath: { label: 'Volumes appear at', about: 'A path in the worker.' },
  ports: {
    label: 'Ports',
    about: 'As 8000/http, separated by commas. Load balancing uses the first http or grpc one, else 80.',
  },
  containerRegistryAuthId: { label: 'Registry login', about: 'For a private image.' },
  isServerless: { label: 'For endpoints', about: 'Else for pods. Cannot be changed later.' },
  isPublic: { label: 'Public', about: 'All accounts can see and use it.' },
  readme: { label: 'Description', about: 'Markdown, for people.' },
  category: { label: 'Made for', about: 'Cannot be changed later.' },
  networkVolumeId: { label: 'Network volume' },
  size: { label: 'Size', unit: 'GB' },
  dataCenterId: { label: 'Data centre' },
  username: { label: 'User name', about: 'At the registry.' },
  password: { label: 'Password or token', about: 'It is never shown again.' },
  value: { label: 'Value' },
  description: { label: 'Description' },
};

/** Groups of an endpoint's form: title and settings. */
const GROUPS: readonly (readonly [title: string, ...names: string[]])[] = [
  ['Endpoint', 'name', 'type', 'templateId'],
  [
    'What runs',
    'imageName',
    'containerRegistryAuthId',
    'dockerStartCmd',
    'dockerEntrypoint',
    'workingDirectory',
    'containerDiskInGb',
    'ports',
    'volumeMountPath',
  ],
  ['Hardware', 'computeType', 'gpuTypeIds', 'gpuCount', 'allowedCudaVersions', 'dataCenterIds'],
  ['Workers', 'workersMin', 'workersMax', 'idleTimeout', 'flashboot', 'flashBootStandby'],
  ['Scaling', 'scalerType', 'scalerValue', 'workerConcurrency'],
  ['Jobs', 'executionTimeoutMs', 'retryLimit', 'retryHandlerErrors', 'durableBeforeRun', 'exampleInput'],
  ['Environment', 'env'],
  ['Volumes and models', 'networkVolumeIds', 'modelReferences'],
  ['OpenAI clients', 'modelAliases', 'modelWeight', 'modelQueueMax'],
];

/** Returns how a setting is shown. */
export function textOf({ name, about }: Pick<FieldView, 'name' | 'about'>): SettingText & { about: string } {
  const text = TEXTS[name] ?? { label: name };
  return { about, ...text };
}

/** Returns the label of a setting; `undefined` if there is no setting with this name in REST or GraphQL. */
export function labelOf(name: string): string | undefined {
  const known = name === 'gpuIds' ? 'gpuTypeIds' : name;
  return Object.hasOwn(TEXTS, known) ? TEXTS[known]!.label : undefined;
}

/** Returns the settings by group, without empty groups and without settings that have no effect with these values. */
export function groupsOf(
  fields: readonly FieldView[],
  values: Readonly<Record<string, unknown>>,
): readonly { title: string; fields: readonly FieldView[] }[] {
  const shown = fields.filter(({ name }) => TEXTS[name]?.when?.(values) !== false);
  const named = new Set(GROUPS.flatMap(([, ...names]) => names));
  const groups = GROUPS.map(([title, ...names]) => ({
    title,
    fields: names.flatMap((name) => shown.filter((field) => field.name === name)),
  }));
  const others = { title: 'More', fields: shown.filter(({ name }) => !named.has(name)) };
  return [...groups, others].filter((group) => group.fields.length > 0);
}
