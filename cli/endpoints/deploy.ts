/** `slipway deploy`: an endpoint from an image or a folder, in one step. */

import { resolve } from 'node:path';
import { ENDPOINT } from '@slipway/facades/resources/endpoints/endpoint-table';
import { nameOfImage } from '@slipway/facades/resources/templates/image-name';
import { OWN_TEMPLATE, ownTemplateOf } from '@slipway/facades/resources/templates/own-template';
import { Endpoint, EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { Command } from 'commander';
import type { BuildOptions } from '../build/build-image.ts';
import { buildImage, isFolder, isPath, isThere, nameOfFolder } from '../build/build-image.ts';
import { BASE_DEFAULT } from '../build/containerfile.ts';
import { exampleOfFolder } from '../build/folder-example.ts';
import { whyLoadBalancing } from '../build/folder-type.ts';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { RejectedError, UsageError } from '../failures.ts';
import { readInput } from '../jobs/read-input.ts';
import { runJob } from '../jobs/run-job.ts';
import { retryWhileAway } from '../retry-while-away.ts';
import { endpointsNamed } from '../shared/find-endpoint.ts';
import { registryAuthIdOf } from '../shared/find-registry-auth.ts';
import type { OptionValues } from '../table-options.ts';
import { optionChanges, tableOptions } from '../table-options.ts';
import { endpointFields, presentEndpoint } from './present-endpoint.ts';
import { untilAllNew } from './restart-endpoint.ts';

interface DeployOptions extends OptionValues, BuildOptions {
  name?: string;
  image?: string;
  env?: Record<string, string>;
  registryAuth?: string;
  input?: string;
  type?: EndpointType;
  workersMax?: number;
  retryLimit?: number;
}

/** Options of the container. Options that an endpoint has too are set on the endpoint. */
const { imageName: _image, env: _env, registryAuthId: _registry, volumeMountPath: _mount, ...CONTAINER } = OWN_TEMPLATE;
const { env: _ofEndpoint, name: _name, ...SETTINGS } = ENDPOINT;

/** Adds the command. */
export function addDeploy(program: Command, cli: Cli): void {
  const command = addCommand(program, {
    usage: 'deploy [folder-or-command...]',
    description:
      'Make an endpoint from an image or a folder, or change the one of this --name, whose workers are then replaced ' +
      'without a gap. A folder has a Containerfile, or a handler.py (of HTTP servers: app.py) with its ' +
      'requirements.txt; Podman or Docker builds it here, or on the machine of --on; its test_input.json or ' +
      'test_request.json becomes the example of the endpoint. With --input, run a job on it and show its result. ' +
      'A command for the image follows --.',
    examples: [
      'deploy ./ocr --push registry.example/me/ocr --input @ocr/test_input.json',
      'deploy --image registry.example/ocr:3 --gpu "NVIDIA L4" --env MODEL=small',
      'deploy --name ocr --image registry.example/ocr:4 --input \'{"image":"sample.png"}\'',
      'deploy --image vllm/vllm-openai:v0.9.2 --type lb --port 8000/http --registry-auth hub -- --model Qwen/Qwen3-8B',
    ],
  })
    .option('--name <name>', 'name of the endpoint; default: name of the image or folder')
    .option('--image <image>', 'container image; without one the command runs on the host, where that is allowed')
    .option('--push <repository>', 'push the image of a folder there; default: it stays in the engine that built it')
    .option('--on <machine>', 'build there: a machine by name, by SSH as root, or ssh://me@gpu-1 or unix:///SOCKET')
    .option('--base <image>', `base of a folder without a Containerfile; default ${BASE_DEFAULT}`)
    .option('--registry-auth <name>', 'credentials for its registry, by name or id')
    .option('-i, --input <json>', 'then run a job with this input: a JSON object, @FILE, or - for stdin');
  tableOptions(command, { env: OWN_TEMPLATE.env, ...CONTAINER });
  tableOptions(tableOptions(command, SETTINGS), SETTINGS, { fixed: true }).action(
    (words: string[], options: DeployOptions) => deploy(cli, words, options),
  );
}

async function deploy(cli: Cli, words: string[], given: DeployOptions): Promise<void> {
  const { output } = cli;
  const options = given.type === undefined ? withTypeOfFolder(cli, words, given) : given;
  // Read first: a wrong input must not leave an endpoint behind.
  const input = options.input === undefined ? undefined : (await readInput(cli, options.input)).toString();
  if (input !== undefined && options.type === EndpointType.LB)
    throw new UsageError('--input is for endpoints with a queue; send requests to a load-balancing one.');
  cli.mustFinish = true;
  const endpoint = await releaseOf(cli, words, options);
  output.result(presentEndpoint(endpoint), () => output.fields(endpointFields(endpoint, output.nowMs())));
  if (input !== undefined) {
    // Else a worker of the release before would answer.
    if (endpoint.version > 0) await untilAllNew(cli, endpoint);
    return runJob(cli, { endpoint: endpoint.id, input, wait: true });
  }
  output.note(`Go on: slipway ${nextStep(endpoint)} ${endpoint.id}`);
}

/** Adds the type if a folder is named whose files are for load balancing. */
function withTypeOfFolder(cli: Cli, [folder]: string[], options: DeployOptions): DeployOptions {
  if (options.image !== undefined || !isFolder(cli, folder)) return options;
  const why = whyLoadBalancing(resolve(cli.config.workingDir, folder));
  if (why === '') return options;
  cli.output.note(`${folder} ${why}, so its endpoint is load-balancing. For a queue: --type qb`);
  return { ...options, type: EndpointType.LB };
}

/** Returns the command that shows how the endpoint works, without its id. */
function nextStep({ type, exampleInput }: Endpoint): string {
  if (type === EndpointType.LB) return 'workers list';
  return exampleInput === '' ? "jobs run --wait --input '{…}' --endpoint" : 'jobs run --wait --endpoint';
}

/** Builds the folder, if one is named, and creates or changes the endpoint. */
async function releaseOf(cli: Cli, words: string[], options: DeployOptions): Promise<Endpoint> {
  const [folder, ...others] = words;
  if (options.image !== undefined || !isFolder(cli, folder)) {
    if (folder !== undefined && options.image === undefined && isPath(folder) && !isThere(cli, folder))
      throw new UsageError(`There is no folder ${folder}.`);
    if ([options.push, options.base, options.on].every((option) => option === undefined))
      return release(cli, words, options);
    throw new UsageError('--push, --on and --base are for a folder: slipway deploy FOLDER.');
  }
  const name = options.name ?? nameOfFolder(cli, folder);
  // Checked first, because a build may take minutes.
  const known = await endpointToChange(cli, name, options.type, true);
  const built = { ...options, type: options.type ?? known?.type ?? EndpointType.QB };
  const exampleInput = options['exampleInput'] ?? exampleOf(cli, folder, built);
  const image = await buildImage(cli, folder, built);
  return release(cli, others, { ...options, image, name, exampleInput });
}

function exampleOf({ config }: Cli, folder: string, { type }: { type: EndpointType }): string | undefined {
  return exampleOfFolder(resolve(config.workingDir, folder), type);
}

/**
 * Returns the endpoint that a release changes; `undefined` if it creates one. `isNamed`: by --name. Throws
 * RejectedError if several have the name, if it was not meant to be changed, or if it is of another type.
 */
async function endpointToChange(
  cli: Cli,
  name: string,
  type: EndpointType | undefined,
  isNamed: boolean,
): Promise<Endpoint | undefined> {
  const [known, other] = await endpointsNamed(cli, name);
  if (other) throw new RejectedError(`Several endpoints are named ${JSON.stringify(name)}; give another --name.`);
  if (known && !isNamed)
    throw new RejectedError(
      `There is an endpoint ${JSON.stringify(name)}. Change it with --name ${name}, or give another --name.`,
    );
  if (known && type !== undefined && known.type !== type) {
    const [is, option] = known.type === EndpointType.LB ? ['is load-balancing', 'lb'] : ['has a queue', 'qb'];
    throw new RejectedError(
      `The endpoint ${name} ${is}, and the type of an endpoint never changes. Give another --name; or ` +
        `--type ${option} if what you deploy is of that type.`,
    );
  }
  return known;
}

/** Creates or changes the endpoint. */
async function release(cli: Cli, words: string[], options: DeployOptions): Promise<Endpoint> {
  const { image = '', registryAuth, workersMax, retryLimit, name = nameOfImage(image) } = options;
  if (image === '' && words.length === 0)
    throw new UsageError('Workers need something to run: name a folder, give --image, or a command after --.');
  if (name === '')
    throw new UsageError(
      `Name the endpoint: --name NAME. ${JSON.stringify(words[0])} is no folder, so it is taken as a command.`,
    );
  const container = optionChanges<Template>(CONTAINER, options, {
    imageName: options.image,
    env: options.env,
    startCommand: words.length === 0 ? undefined : words,
    registryAuthId: registryAuth === undefined ? undefined : await registryAuthIdOf(cli, registryAuth),
  });
  const ownTemplate = ownTemplateOf(container.fields, container.mask);
  const { fields, mask } = optionChanges<Endpoint>(SETTINGS, options, {});
  const known = await endpointToChange(cli, name, options.type, options.name !== undefined);
  if (known) {
    const request = { endpoint: Endpoint.fromPartial({ ...fields, id: known.id }), updateMask: mask, ownTemplate };
    const { endpoint } = await cli.core.endpoints.call((client) => client.updateEndpoint, request);
    return endpoint!;
  }
  const request = {
    endpoint: Endpoint.fromPartial({ ...fields, name }),
    requestId: cli.random.uuid(),
    workersMax,
    retryLimit,
    ownTemplate,
  };
  const { endpoint } = await retryWhileAway(cli, () =>
    cli.core.endpoints.call((client) => client.createEndpoint, request),
  );
  return endpoint!;
}
