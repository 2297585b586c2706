/**
 * Templates: each setting, and its form on the public surfaces (docs/reference/management.md#templates). The contract
 * documents the meaning of the settings. Changes may include `category` and `serverless` with their current value.
 */
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { TEMPLATE_SETTINGS } from '@slipway/proto/wire/settings';
import { TEMPLATE_EXAMPLE } from '../example-fields.ts';
import { describe } from '../field.ts';
import { PORT_PATTERN } from '../port.ts';

const CATEGORY = 'Kind of machine that it is for. Default {default}. Fixed after creation.';
const ENV = 'Environment variables of the workers.';

/** Settings that an owner chooses. */
type Settings = Omit<Template, 'id' | 'version' | 'createTime' | 'boundEndpointId' | 'startSsh' | 'startJupyter'> & {
  startSsh: boolean;
  startJupyter: boolean;
};

/** In the order of documents and help. On the command line the name and the command are arguments. */
export const TEMPLATE = describe<Settings>()(TEMPLATE_SETTINGS, {
  name: {
    kind: { is: 'text', min: 1, max: 191 },
    required: true,
    rest: { name: 'name', in: 'Name, unique in the account.' },
    graphql: { name: 'name', in: '', must: true },
  },
  imageName: {
    kind: { is: 'text', max: 4_096 },
    required: true,
    rest: {
      name: 'imageName',
      in: 'Container image. Empty: dockerStartCmd runs on the host, on machines whose operator allows that.',
    },
    graphql: { name: 'imageName', in: '' },
    cli: {
      option: '--image <image>',
      about: 'container image; without one the command runs on the host, where that is allowed',
    },
  },
  startCommand: {
    kind: { is: 'command' },
    rest: { name: 'dockerStartCmd', in: 'Command line. Without an image: the program and its arguments.' },
    graphql: {
      name: 'dockerArgs',
      out: 'The command line as one text.',
      in: 'The command line as one text, divided as a shell divides it, or {"cmd":[…],"entrypoint":[…]} as text.',
    },
  },
  entrypoint: {
    kind: { is: 'command' },
    rest: { name: 'dockerEntrypoint', in: "Replaces the image's entry point." },
    cli: {
      option: '--entrypoint <word>',
      about: 'replaces the entry point of the image; may be given more than once; "" for its own',
    },
  },
  env: {
    kind: { is: 'variables' },
    rest: { name: 'env', in: ENV, out: ENV },
    graphql: { name: 'env', in: '', must: true },
    cli: {
      option: '--env <NAME=value>',
      about: 'variable of the workers; may be given more than once; replaces all',
      row: 'env',
    },
  },
  workingDirectory: {
    kind: { is: 'text', max: 4_096, none: true },
    rest: { name: 'workingDirectory', in: 'Working directory of workers without an image. An extension.' },
    cli: { option: '--directory <path>', about: 'working directory of process workers' },
  },
  containerDiskGb: {
    kind: { is: 'whole' },
    rest: { name: 'containerDiskInGb', in: 'Disk of the container in GB. Default {default}.', min: 1 },
    graphql: { name: 'containerDiskInGb', in: '' },
    cli: { option: '--disk <gb>', about: 'disk of the container in GB; default {default}' },
  },
  volumeGb: {
    kind: { is: 'whole' },
    rest: { name: 'volumeInGb', in: "Size of a pod's own volume in GB. Default 20; 0 for endpoints." },
    graphql: { name: 'volumeInGb', in: '' },
    cli: { option: '--volume <gb>', about: 'volume of a pod in GB; default 0' },
  },
  volumeMountPath: {
    kind: { is: 'text', max: 4_096 },
    rest: { name: 'volumeMountPath', in: 'Path at which volumes are mounted. Default {default}.' },
    graphql: { name: 'volumeMountPath', in: '' },
    cli: { option: '--mount <path>', about: 'where volumes appear; default {default}' },
  },
  ports: {
    kind: { is: 'texts', pattern: PORT_PATTERN },
    rest: {
      name: 'ports',
      in:
        'Exposed ports, for instance 8888/http. Default 8888/http and 22/tcp; none for endpoints. ' +
        'Workers of load-balancing endpoints listen on the first grpc or http one (variable PORT), else on 80.',
    },
    graphql: { name: 'ports', in: '', out: 'For instance 8888/http,22/tcp.' },
    cli: {
      option: '--port <port>',
      about: 'exposed port, as 8888/http or 22/tcp; may be given more than once; "" for none',
    },
  },
  registryAuthId: {
    kind: { is: 'text', max: 191, none: true },
    rest: { name: 'containerRegistryAuthId', in: "Id of the credentials for the image's registry. Empty: none." },
    graphql: { name: 'containerRegistryAuthId', in: '' },
    cli: { option: '--registry-auth <id>', about: 'credentials for the registry of the image; "" for none' },
  },
  public: {
    kind: { is: 'flag' },
    rest: { name: 'isPublic', in: 'True: all accounts can see and use it. Default {default}.' },
    graphql: { name: 'isPublic', in: '' },
    cli: { option: '--public', about: 'visible to all accounts', off: 'visible to this account only (default)' },
  },
  serverless: {
    kind: { is: 'flag' },
    rest: {
      name: 'isServerless',
      in: 'True: for endpoints. False: for pods. Default {default}. Fixed after creation.',
    },
    graphql: { name: 'isServerless', in: '' },
    cli: { option: '--serverless', about: 'made for endpoints (default)', off: 'made for pods' },
  },
  readme: {
    kind: { is: 'text', max: 1_000_000 },
    rest: { name: 'readme', in: 'Description for people, in Markdown.' },
    graphql: { name: 'readme', in: '' },
    cli: { option: '--readme <text>', about: 'Markdown for people', row: 'readme' },
  },
  exampleInput: TEMPLATE_EXAMPLE,
  category: {
    kind: { is: 'word', words: { NVIDIA: 'NVIDIA', AMD: 'AMD', CPU: 'CPU' }, prefix: '' },
    rest: { name: 'category', in: CATEGORY, out: CATEGORY },
    graphql: { name: 'category', in: '', out: 'NVIDIA, AMD or CPU.' },
    cli: { option: '--category <kind>', about: 'NVIDIA (default), AMD or CPU' },
  },
  startSsh: {
    kind: { is: 'flag' },
    graphql: { name: 'startSsh', in: '', out: 'Pods made of it find the SSH keys of the account in PUBLIC_KEY.' },
    cli: { option: '--ssh', about: 'pods made of it get the SSH keys of the account (default)', off: 'they get none' },
  },
  startJupyter: {
    kind: { is: 'flag' },
    graphql: { name: 'startJupyter', in: '', out: 'Pods made of it get a JUPYTER_PASSWORD.' },
    cli: { option: '--jupyter', about: 'pods made of it get a password for Jupyter', off: 'they get none (default)' },
  },
});
