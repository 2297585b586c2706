/**
 * Pods: each setting, and its form on the public surfaces (docs/reference/management.md#pods). The contract documents
 * the meaning of the settings. The GraphQL inputs that deploy a pod are in pod.graphql, because each of the three has
 * other settings in its own form.
 */
import type { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import { POD_SETTINGS } from '@slipway/proto/wire/settings';
import { describe } from '../field.ts';
import { PORT_PATTERN } from '../port.ts';

/** Settings that an owner chooses. */
type Settings = Pick<Pod, keyof typeof POD_SETTINGS>;

/** In the order of documents and help. On the command line the name and the command are arguments. */
export const POD = describe<Settings>()(POD_SETTINGS, {
  name: {
    kind: { is: 'text', max: 191 },
    rest: { name: 'name', in: 'Default `{default}`.' },
    graphql: { name: 'name' },
  },
  templateId: {
    kind: { is: 'text', max: 191, none: true },
    fixed: true,
    rest: { name: 'templateId', in: 'Id of a template, whose settings apply where the body has none. Empty: none.' },
    graphql: { name: 'templateId' },
  },
  imageName: {
    kind: { is: 'text', max: 4_096 },
    rest: {
      name: 'imageName',
      bodyOnly: true,
      in: 'Container image. Without one, dockerStartCmd runs on the host, on machines whose operator allows that.',
    },
    graphql: { name: 'imageName', in: '' },
    cli: { option: '--image <image>', about: 'container image' },
  },
  startCommand: {
    kind: { is: 'command' },
    rest: { name: 'dockerStartCmd', in: 'Command line. Without an image: the program and its arguments.' },
    graphql: { name: 'dockerArgs', in: '', out: 'The command line as one text.' },
  },
  entrypoint: {
    kind: { is: 'command' },
    rest: { name: 'dockerEntrypoint', in: "Replaces the image's entry point." },
  },
  // In GraphQL it is given as a list of names and values, and answered as a list of texts.
  env: {
    kind: { is: 'variables' },
    rest: {
      name: 'env',
      in: 'Environment variables. They override those of the template.',
      out: 'Environment variables. Never shown for workers.',
    },
    cli: { option: '--env <NAME=value>', about: "variable, over the template's; may be given more than once" },
  },
  workingDirectory: {
    kind: { is: 'text', max: 4_096, none: true },
    rest: { name: 'workingDirectory', in: 'Working directory of a pod without an image. An extension.' },
  },
  containerDiskGb: {
    kind: { is: 'whole' },
    rest: { name: 'containerDiskInGb', in: 'Disk of the container in GB. Default {default}.', min: 1 },
    graphql: { name: 'containerDiskInGb', in: '' },
  },
  volumeGb: {
    kind: { is: 'whole' },
    rest: { name: 'volumeInGb', in: "Size of the pod's own volume in GB. Default {default}." },
    graphql: { name: 'volumeInGb', in: '' },
  },
  volumeMountPath: {
    kind: { is: 'text', max: 4_096 },
    rest: { name: 'volumeMountPath', in: 'Path at which the volume is mounted. Default {default}.' },
    graphql: { name: 'volumeMountPath', in: '' },
  },
  ports: {
    kind: { is: 'texts', pattern: PORT_PATTERN },
    rest: { name: 'ports', in: 'Exposed ports, for instance 8888/http. Default 8888/http and 22/tcp.' },
    graphql: { name: 'ports', in: '', out: 'For instance 8888/http,22/tcp.' },
  },
  registryAuthId: {
    kind: { is: 'text', max: 191, none: true },
    rest: { name: 'containerRegistryAuthId', in: "Id of the credentials for the image's registry. Empty: none." },
    graphql: { name: 'containerRegistryAuthId', in: '' },
  },
  gpuIds: {
    kind: { is: 'texts' },
    fixed: true,
    rest: { name: 'gpuTypeIds', in: 'GPU type names in order of preference. Default: any.', bodyOnly: true },
    cli: { option: '--gpu <type>', about: 'GPU type or pool, in order of preference; may be given more than once' },
  },
  gpuCount: {
    kind: { is: 'whole' },
    fixed: true,
    rest: { name: 'gpuCount', in: 'Number of GPUs. Default {default}.', min: 1, bodyOnly: true },
    graphql: { name: 'gpuCount' },
    cli: { option: '--gpu-count <number>', about: 'GPUs it gets; default {default}, without GPUs 0' },
  },
  // In REST beside the flavours and processors that stand for it (cpu-sizes.ts).
  instanceIds: {
    kind: { is: 'texts', asList: true },
    fixed: true,
    cli: {
      option: '--size <size>',
      about: 'with --compute cpu: processors and GB, as cpu3c-2-4; may be given more than once',
    },
  },
  computeType: {
    kind: { is: 'word', words: { GPU: 'GPU', CPU: 'CPU' }, prefix: '' },
    fixed: true,
    rest: { name: 'computeType', in: 'GPU or CPU: whether the pod has GPUs. Default {default}.', bodyOnly: true },
    cli: { option: '--compute <kind>', about: 'GPU (default) or CPU' },
  },
  locations: {
    kind: { is: 'texts' },
    fixed: true,
    rest: {
      name: 'dataCenterIds',
      in: 'Data centres. The machine is in one of them. Default: anywhere.',
      bodyOnly: true,
    },
    cli: { option: '--location <place>', about: 'country code or data centre; may be given more than once' },
  },
  allowedCudaVersions: {
    kind: { is: 'texts', asList: true },
    fixed: true,
    rest: {
      name: 'allowedCudaVersions',
      in: 'CUDA versions. Its machine supports at least one of them. Default: any.',
      bodyOnly: true,
    },
  },
  networkVolumeId: {
    kind: { is: 'text', max: 191, none: true },
    fixed: true,
    rest: {
      name: 'networkVolumeId',
      in: "Id of a network volume to mount instead of the pod's own volume. Empty: none.",
      bodyOnly: true,
    },
    graphql: { name: 'networkVolumeId' },
    cli: { option: '--volume <id>', about: 'network volume instead of its own disk' },
  },
  locked: {
    kind: { is: 'flag' },
    rest: {
      name: 'locked',
      in: 'True: the pod cannot be stopped, reset or changed until it is unlocked. Default {default}.',
    },
    graphql: { name: 'locked' },
  },
  interruptible: {
    kind: { is: 'flag' },
    fixed: true,
    rest: { name: 'interruptible', in: 'Stored without effect: pods are not interrupted. Default {default}.' },
  },
});
