/** Options that describe an endpoint. */
import type { Command } from 'commander';
import { EndpointType, FlashBootType, ScalerType } from '../../../proto/gen/slipway/v1/endpoint.ts';
import type { Endpoint } from '../../../proto/gen/slipway/v1/endpoint.ts';
import { changesOf } from '../changes.ts';
import type { Changes } from '../changes.ts';
import { collect, collectVariables, oneOf, span, wholeNumber } from '../option-values.ts';

/** What the options say; absent: not given. */
export interface EndpointOptions {
  name?: string;
  template?: string;
  gpu?: string[];
  gpuCount?: number;
  size?: string[];
  workersMin?: number;
  workersMax?: number;
  idleTimeout?: number;
  scaler?: ScalerType;
  scalerValue?: number;
  executionTimeout?: number;
  flashboot?: boolean;
  location?: string[];
  volume?: string[];
  cuda?: string[];
  env?: Record<string, string>;
  retryLimit?: number;
  retryHandlerErrors?: boolean;
  concurrency?: number;
  type?: EndpointType;
  compute?: string;
}

const SCALERS = { 'queue-delay': ScalerType.QUEUE_DELAY, 'request-count': ScalerType.REQUEST_COUNT };

/** Adds the options that create and update share. */
export function endpointOptions(command: Command): Command {
  return command
    .option('--name <name>', 'for people; default: the name of the template')
    .option('--gpu <type>', 'GPU type or pool, in order of preference; may be given more than once; "" for any type', collect)
    .option('--gpu-count <number>', 'GPUs of a worker; default 1, with --compute cpu 0', wholeNumber())
    .option('--size <size>', 'with --compute cpu: processors and GB, as cpu3c-2-4; may be given more than once; "" for none', collect)
    .option('--workers-min <number>', 'fewest workers kept; default 0', wholeNumber())
    .option('--workers-max <number>', 'most workers at any time; default 3', wholeNumber())
    .option('--idle-timeout <seconds>', 'how long a worker stays without a job; default 5', wholeNumber())
    .option('--scaler <type>', 'queue-delay (default) or request-count', oneOf(SCALERS))
    .option('--scaler-value <number>', 'target of the scaler; default 4', wholeNumber())
    .option('--execution-timeout <time>', 'longest run of a job, as 90s, 10m or 2h; default 10m', span)
    .option('--flashboot', 'keep scaled-down workers frozen for a fast start')
    .option('--no-flashboot', 'stop them (default)')
    .option('--location <place>', 'country code or data centre; may be given more than once; "" for anywhere', collect)
    .option('--volume <id>', 'network volume; may be given more than once; "" for none', collect)
    .option('--cuda <version>', 'CUDA version that a machine must support, any of them; may be given more than once', collect)
    .option('--env <NAME=value>', 'variable of workers, over the template\'s; may be given more than once; replaces all', collectVariables)
    .option('--retry-limit <number>', 'how often a job whose worker was lost is put back; default 2', wholeNumber())
    .option('--retry-handler-errors', 'also put back jobs whose handler reported an error')
    .option('--no-retry-handler-errors', 'such jobs are FAILED (default)')
    .option('--concurrency <number>', 'jobs a worker holds at once when its SDK does not say so; default 1', wholeNumber());
}

/** Adds those that are fixed once the endpoint exists. */
export function fixedEndpointOptions(command: Command): Command {
  return command
    .option('--type <type>', 'QB, queue-based (default), or LB, load balancing', oneOf({ qb: EndpointType.QB, lb: EndpointType.LB }))
    .option('--compute <kind>', 'GPU (default) or CPU', oneOf({ gpu: 'GPU', cpu: 'CPU' }));
}

/** The fields that the options name. */
export function endpointChanges(options: EndpointOptions, templateId: string | undefined): Changes<Endpoint> {
  const { flashboot } = options;
  return changesOf<Endpoint>({
    name: options.name,
    templateId,
    gpuIds: options.gpu,
    gpuCount: options.gpuCount,
    instanceIds: options.size,
    workersMin: options.workersMin,
    workersMax: options.workersMax,
    idleTimeoutSeconds: options.idleTimeout,
    scalerType: options.scaler,
    scalerValue: options.scalerValue,
    executionTimeoutMs: options.executionTimeout,
    flashBootType: flashboot === undefined ? undefined : flashboot ? FlashBootType.FLASHBOOT : FlashBootType.OFF,
    locations: options.location,
    networkVolumeIds: options.volume,
    allowedCudaVersions: options.cuda,
    env: options.env,
    retryLimit: options.retryLimit,
    retryHandlerErrors: options.retryHandlerErrors,
    workerConcurrency: options.concurrency,
    type: options.type,
    computeType: options.compute,
  });
}
