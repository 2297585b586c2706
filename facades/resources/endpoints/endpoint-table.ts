/**
 * Endpoints: each setting, and its form on the public surfaces (docs/reference/management.md). Their meaning: contract.
 */
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { EndpointType, FlashBootStandby, FlashBootType, ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { ENDPOINT_SETTINGS } from '@slipway/proto/wire/settings';
import { ENDPOINT_EXAMPLE } from '../example-fields.ts';
import { describe } from '../field.ts';
import { CONCURRENCY, ENV, SCALER, STANDBY } from './endpoint-texts.ts';
import { JOB_FIELDS } from './job-fields.ts';
import { MODEL_FIELDS } from './model-fields.ts';

/**
 * Settings that an owner chooses. The secret that signs webhook calls cannot be read by anybody, and no public surface
 * accepts it.
 */
type StateField =
  | 'throttledReason'
  | 'cannotRunReason'
  | 'flashBootStandbyReason'
  | 'rolloutState'
  | 'rolloutReason'
  | 'servingVersion';
type Settings = Omit<
  Endpoint,
  'id' | 'version' | 'createTime' | 'template' | 'webhookSecret' | 'modelWeight' | StateField
> & {
  modelWeight: number;
};

/** In the order of documents and help. */
export const ENDPOINT = describe<Settings>()(ENDPOINT_SETTINGS, {
  name: {
    kind: { is: 'text', max: 191 },
    rest: { name: 'name', in: 'Name, for people. Default: the name of the template.' },
    graphql: { name: 'name', in: '', must: true },
    cli: { option: '--name <name>', about: 'for people; default: the name of the template' },
  },
  templateId: {
    kind: { is: 'text', max: 191 },
    required: true,
    rest: { name: 'templateId', in: 'Id of the template that its workers run. It must be one with isServerless true.' },
    graphql: { name: 'templateId', in: '', must: true },
  },
  gpuIds: {
    kind: { is: 'texts' },
    rest: {
      name: 'gpuTypeIds',
      in: 'GPU type names in order of preference. Empty: any type, or no GPU while no machine has one.',
    },
    graphql: { name: 'gpuIds', in: '', out: 'GPU pools or type names in order of preference, separated by commas.' },
    cli: {
      option: '--gpu <type>',
      about: 'GPU type or pool, in order of preference; may be given more than once; "" for any type',
    },
  },
  gpuCount: {
    kind: { is: 'whole' },
    rest: {
      name: 'gpuCount',
      in: 'GPUs of each worker. Default {default}. With computeType CPU: 0.',
      min: 1,
    },
    graphql: { name: 'gpuCount', in: '' },
    cli: { option: '--gpu-count <number>', about: 'GPUs of a worker; default {default}, with --compute cpu 0' },
  },
  instanceIds: {
    kind: { is: 'texts', asList: true },
    rest: {
      name: 'instanceIds',
      out: 'With computeType CPU: sizes of workers in order of preference, for instance cpu3c-2-4. Empty: no size.',
    },
    graphql: {
      name: 'instanceIds',
      must: true,
      in: 'CPU workers of these sizes, in order of preference, as cpu3c-2-4. Fixed is only that they are CPU workers.',
      out: 'Sizes of CPU workers in order of preference, as cpu3c-2-4; empty: none.',
    },
    cli: {
      option: '--size <size>',
      about: 'with --compute cpu: processors and GB, as cpu3c-2-4; may be given more than once; "" for none',
    },
  },
  workersMin: {
    kind: { is: 'whole' },
    rest: { name: 'workersMin', in: 'Fewest workers. Default {default}.' },
    graphql: { name: 'workersMin', in: '' },
    cli: { option: '--workers-min <number>', about: 'fewest workers kept; default {default}' },
  },
  workersMax: {
    kind: { is: 'whole' },
    rest: { name: 'workersMax', in: 'Most workers. Default {default}.' },
    graphql: { name: 'workersMax', in: '' },
    cli: { option: '--workers-max <number>', about: 'most workers at any time; default {default}' },
  },
  idleTimeoutSeconds: {
    kind: { is: 'whole' },
    rest: {
      name: 'idleTimeout',
      in: 'Seconds that a worker stays without a job. Default {default}.',
      out: 'Seconds that a worker stays without a job.',
    },
    graphql: { name: 'idleTimeout', in: 'Seconds.', out: 'Seconds before an idle worker stops.' },
    cli: { option: '--idle-timeout <seconds>', about: 'how long a worker stays without a job; default {default}' },
  },
  scalerType: {
    kind: {
      is: 'word',
      words: { QUEUE_DELAY: ScalerType.QUEUE_DELAY, REQUEST_COUNT: ScalerType.REQUEST_COUNT, SLO: ScalerType.SLO },
      prefix: 'SCALER_TYPE_',
    },
    rest: { name: 'scalerType', in: `${SCALER} Default {default}, of type LB REQUEST_COUNT.`, out: SCALER },
    graphql: {
      name: 'scalerType',
      in: '',
      out: 'QUEUE_DELAY, REQUEST_COUNT, or SLO, an extension; of type LB the second.',
    },
    cli: {
      option: '--scaler <type>',
      about: 'queue-delay (default), request-count or slo; of type LB request-count only',
    },
  },
  scalerValue: {
    kind: { is: 'whole' },
    rest: { name: 'scalerValue', in: 'Target of the scaler, as scalerType explains. Default {default}.' },
    graphql: { name: 'scalerValue', in: '' },
    cli: {
      option: '--scaler-value <number>',
      about: 'target of the scaler, of slo the wait in seconds that 95 of 100 jobs shall not exceed; default {default}',
    },
  },
  executionTimeoutMs: {
    kind: { is: 'whole', span: true },
    rest: { name: 'executionTimeoutMs', in: 'Longest run of a job in milliseconds. Default {default}.' },
    graphql: {
      name: 'executionTimeoutMs',
      in: 'Milliseconds; 0: the default.',
      out: 'Milliseconds; 0: the default, {default}.',
    },
    cli: { option: '--execution-timeout <time>', about: 'longest run of a job, as 90s, 10m or 2h; default {span}' },
  },
  flashBootType: {
    kind: {
      is: 'switch',
      words: { OFF: FlashBootType.OFF, FLASHBOOT: FlashBootType.FLASHBOOT },
      prefix: 'FLASH_BOOT_TYPE_',
      graphqlType: 'FlashBootType',
    },
    rest: {
      name: 'flashboot',
      in: 'Keep workers that scaling stops on standby, so that they start fast. Default false.',
    },
    graphql: { name: 'flashBootType', in: '' },
    cli: {
      option: '--flashboot',
      about: 'keep scaled-down workers frozen for a fast start',
      off: 'stop them (default)',
    },
  },
  flashBootStandby: {
    kind: {
      is: 'word',
      words: { AUTO: FlashBootStandby.AUTO, GPU: FlashBootStandby.GPU, HOST: FlashBootStandby.HOST },
      prefix: 'FLASH_BOOT_STANDBY_',
    },
    rest: {
      name: 'flashBootStandby',
      in: `${STANDBY} Default {default}. An extension.`,
      out: `${STANDBY} An extension.`,
    },
    graphql: {
      name: 'flashBootStandby',
      in: 'AUTO (default), GPU or HOST. An extension.',
      out: 'AUTO, GPU or HOST. An extension.',
    },
    cli: {
      option: '--flashboot-standby <level>',
      about: 'GPU memory on standby: auto (default; to host memory when others need the GPU), gpu or host (at once)',
    },
  },
  locations: {
    kind: { is: 'texts' },
    rest: {
      name: 'dataCenterIds',
      in: 'Data centres or country codes. The machine is in one of them. Default: anywhere.',
    },
    graphql: {
      name: 'locations',
      in: '',
      out: 'Country codes or data-centre ids, separated by commas; empty: anywhere.',
    },
    cli: {
      option: '--location <place>',
      about: 'country code or data centre; may be given more than once; "" for anywhere',
    },
  },
  networkVolumeIds: {
    kind: { is: 'texts' },
    rest: { name: 'networkVolumeIds', in: 'Ids of network volumes, one for each data centre.' },
    cli: { option: '--volume <id>', about: 'network volume; may be given more than once; "" for none' },
  },
  allowedCudaVersions: {
    kind: { is: 'texts' },
    rest: {
      name: 'allowedCudaVersions',
      in: 'CUDA versions from 11.8 on. The machine supports at least one of them. Default: any.',
    },
    graphql: { name: 'allowedCudaVersions', in: '', out: 'CUDA versions, separated by commas.' },
    cli: {
      option: '--cuda <version>',
      about: 'CUDA version that a machine must support, any of them; may be given more than once',
    },
  },
  env: {
    kind: { is: 'variables' },
    rest: { name: 'env', in: `${ENV} An extension.`, out: ENV },
    graphql: { name: 'env', in: '', must: true },
    cli: {
      option: '--env <NAME=value>',
      about: "variable of workers, over the template's; may be given more than once; replaces all",
      row: 'env',
    },
  },
  ...JOB_FIELDS,
  workerConcurrency: {
    kind: { is: 'whole' },
    rest: {
      name: 'workerConcurrency',
      in: `${CONCURRENCY}. Default {default}. An extension.`,
      out: `${CONCURRENCY}. An extension.`,
    },
    graphql: {
      name: 'workerConcurrency',
      in: `${CONCURRENCY}, {min} to {max}. Default {default}. An extension.`,
      out: `${CONCURRENCY}. An extension.`,
    },
    cli: {
      option: '--concurrency <number>',
      about:
        'jobs a worker holds at once when its SDK does not say so, default {default}; of type LB its ' +
        'requests, default 100',
    },
  },
  exampleInput: ENDPOINT_EXAMPLE,
  ...MODEL_FIELDS,
  // REST v2 and GraphQL express these settings in their own way; other surfaces have only the common field.
  queueDelayMs: { kind: { is: 'whole' } },
  executionTimeoutUnset: { kind: { is: 'flag' } },
  priorityFlashBoot: { kind: { is: 'flag' } },
  type: {
    kind: { is: 'word', words: { QB: EndpointType.QB, LB: EndpointType.LB }, prefix: 'ENDPOINT_TYPE_' },
    fixed: true,
    rest: {
      name: 'type',
      in: 'QB: queue-based. LB: load balancing. Fixed after creation. An extension.',
      out: 'QB: queue-based. LB: load balancing. Fixed after creation. An extension.',
    },
    graphql: { name: 'type', in: 'QB (default) or LB; fixed after creation.', out: 'QB or LB.', must: true },
    cli: {
      option: '--type <type>',
      about: 'QB, queue-based (default), or LB, load balancing: workers are HTTP servers on PORT',
    },
  },
  computeType: {
    kind: { is: 'word', words: { GPU: 'GPU', CPU: 'CPU' }, prefix: '' },
    fixed: true,
    rest: {
      name: 'computeType',
      in: 'CPU endpoints run on machines without a GPU. Fixed after creation.',
      out: 'CPU endpoints run on machines without a GPU. Fixed after creation.',
    },
    graphql: { name: 'computeType', out: 'CPU or GPU.' },
    cli: { option: '--compute <kind>', about: 'GPU (default) or CPU' },
  },
});
