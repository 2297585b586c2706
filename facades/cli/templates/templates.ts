/** `slipway templates`. */
import type { Command } from 'commander';
import { Template } from '../../../proto/gen/slipway/v1/template_service.ts';
import { allPages } from '../../../proto/wire/pages.ts';
import { changesOf } from '../changes.ts';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { UsageError } from '../failures.ts';
import { collect, collectVariables, oneOf, wholeNumber } from '../option-values.ts';
import { presentTemplate } from '../../resources/templates/present-template.ts';
import { templateIdOf } from './find-template.ts';
import { templateColumns, templateFields } from './template-table.ts';

interface TemplateOptions {
  name?: string;
  image?: string;
  entrypoint?: string[];
  env?: Record<string, string>;
  directory?: string;
  disk?: number;
  volume?: number;
  mount?: string;
  port?: string[];
  registryAuth?: string;
  public?: boolean;
  serverless?: boolean;
  readme?: string;
  category?: string;
}

/** Adds the commands. A template is named by its id or its name. */
export function addTemplates(program: Command, cli: Cli): void {
  const templates = addCommand(program, {
    usage: 'templates', description: 'Create, show, change and delete templates: what workers run.',
    examples: ['templates list', 'templates create ocr-js --directory /srv/ocr -- node handler.js'],
  });
  addCommand(templates, { usage: 'list', description: 'List the templates.', examples: ['templates list', 'templates list --json'] })
    .action(() => listTemplates(cli));
  addCommand(templates, { usage: 'get <template>', description: 'Show a template, by id or name.', examples: ['templates get ocr'] })
    .action((named: string) => getTemplate(cli, named));
  templateOptions(addCommand(templates, {
    usage: 'create <name> [command...]', description: 'Create a template. The command that workers run stands after --.',
    examples: [
      'templates create ocr-python --directory /srv/ocr -- python -u handler.py',
      'templates create llm --image registry.example/llm:3 --env MODEL=small --disk 80',
    ],
  })).action((name: string, command: string[], options: TemplateOptions) => createTemplate(cli, name, command, options));
  templateOptions(addCommand(templates, {
    usage: 'update <template> [command...]',
    description: 'Change what is named and nothing else. Workers are replaced when what they run changes.',
    examples: ['templates update ocr --env MODE=fast', 'templates update ocr -- python -u handler2.py'],
  }).option('--name <name>', 'a new name'))
    .action((named: string, command: string[], options: TemplateOptions) => updateTemplate(cli, named, command, options));
  addCommand(templates, {
    usage: 'delete <template>', description: 'Delete a template that no endpoint uses.', examples: ['templates delete ocr'],
  }).action((named: string) => deleteTemplate(cli, named));
}

function templateOptions(command: Command): Command {
  return command
    .option('--image <image>', 'container image; without one the command runs on the host, where that is allowed')
    .option('--entrypoint <word>', 'replaces the entry point of the image; may be given more than once; "" for its own', collect)
    .option('--env <NAME=value>', 'variable of the workers; may be given more than once; replaces all', collectVariables)
    .option('--directory <path>', 'working directory of process workers')
    .option('--disk <gb>', 'disk of the container in GB; default 50', wholeNumber())
    .option('--volume <gb>', 'volume of a pod in GB; default 0', wholeNumber())
    .option('--mount <path>', 'where volumes appear; default /workspace')
    .option('--port <port>', 'exposed port, as 8888/http or 22/tcp; may be given more than once; "" for none', collect)
    .option('--registry-auth <id>', 'credentials for the registry of the image; "" for none')
    .option('--public', 'visible to all accounts')
    .option('--no-public', 'visible to this account only (default)')
    .option('--serverless', 'made for endpoints (default)')
    .option('--no-serverless', 'made for pods')
    .option('--readme <text>', 'Markdown for people')
    .option('--category <kind>', 'NVIDIA (default), AMD or CPU', oneOf({ nvidia: 'NVIDIA', amd: 'AMD', cpu: 'CPU' }));
}

function changes(options: TemplateOptions, command: readonly string[]) {
  return changesOf<Template>({
    name: options.name,
    imageName: options.image,
    startCommand: command.length === 0 ? undefined : [...command],
    entrypoint: options.entrypoint,
    env: options.env,
    workingDirectory: options.directory,
    containerDiskGb: options.disk,
    volumeGb: options.volume,
    volumeMountPath: options.mount,
    ports: options.port,
    registryAuthId: options.registryAuth,
    public: options.public,
    serverless: options.serverless,
    readme: options.readme,
    category: options.category,
  });
}

async function listTemplates(cli: Cli): Promise<void> {
  const templates = await allPages(
    (page) => cli.core.templates.call((client) => client.listTemplates, { includePublic: false, ...page }),
    ({ templates }) => templates,
  );
  const { output } = cli;
  output.result(templates.map((template) => presentTemplate(template)), () => {
    const empty = 'There are no templates; "slipway templates create --help" shows how to make one.';
    output.table(templateColumns(output.nowMs()), templates, empty);
  });
}

async function getTemplate(cli: Cli, named: string): Promise<void> {
  const id = await templateIdOf(cli, named);
  const { template } = await cli.core.templates.call((client) => client.getTemplate, { id });
  show(cli, template!);
}

async function createTemplate(cli: Cli, name: string, command: string[], options: TemplateOptions): Promise<void> {
  const { fields } = changes({ serverless: true, ...options }, command);
  if (command.length === 0 && options.image === undefined) {
    throw new UsageError('Workers need something to run: give --image, or a command after --.');
  }
  const template = Template.fromPartial({ ...fields, name });
  const created = await cli.core.templates.call((client) => client.createTemplate, { template });
  show(cli, created.template!);
}

async function updateTemplate(cli: Cli, named: string, command: string[], options: TemplateOptions): Promise<void> {
  const { fields, mask } = changes(options, command);
  if (mask.length === 0) throw new UsageError('Name what shall change, for instance --env MODE=fast.');
  const id = await templateIdOf(cli, named);
  const request = { template: Template.fromPartial({ ...fields, id }), updateMask: mask };
  const { template } = await cli.core.templates.call((client) => client.updateTemplate, request);
  show(cli, template!);
}

async function deleteTemplate(cli: Cli, named: string): Promise<void> {
  const id = await templateIdOf(cli, named);
  await cli.core.templates.call((client) => client.deleteTemplate, { id });
  cli.output.result({ id, deleted: true }, () => cli.output.line(`Template ${id} is deleted.`));
}

function show({ output }: Cli, template: Template): void {
  output.result(presentTemplate(template), () => output.fields(templateFields(template, output.nowMs())));
}
