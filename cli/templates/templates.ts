/** `slipway templates`. */

import { presentTemplate } from '@slipway/facades/resources/templates/present-template';
import { TEMPLATE } from '@slipway/facades/resources/templates/template-table';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { allPages } from '@slipway/proto/wire/pages';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { UsageError } from '../failures.ts';
import { templateIdOf } from '../shared/find-template.ts';
import { WATCH, watched } from '../shared/watch.ts';
import type { OptionValues } from '../table-options.ts';
import { optionChanges, tableOptions } from '../table-options.ts';
import { templateColumns, templateFields } from './template-table.ts';

interface TemplateOptions extends OptionValues {
  name?: string;
  image?: string;
}

/** Adds the commands. A template is named by its id or its name. */
export function addTemplates(program: Command, cli: Cli): void {
  const templates = addCommand(program, {
    usage: 'templates',
    description: 'Create, show, change and delete templates: what workers run.',
    examples: ['templates list', 'templates create ocr-js --directory /srv/ocr -- node handler.js'],
  });
  addCommand(templates, {
    usage: 'list',
    description: 'List the templates.',
    examples: ['templates list', 'templates list --json'],
  })
    .option(...WATCH)
    .action(watched(cli, () => listTemplates(cli)));
  addCommand(templates, {
    usage: 'get <template>',
    description: 'Show a template, by id or name.',
    examples: ['templates get ocr'],
  }).action((named: string) => getTemplate(cli, named));
  tableOptions(
    addCommand(templates, {
      usage: 'create <name> [command...]',
      description: 'Create a template. The command that workers run stands after --.',
      examples: [
        'templates create ocr-python --directory /srv/ocr -- python -u handler.py',
        'templates create llm --image registry.example/llm:3 --env MODEL=small --disk 80',
      ],
    }),
    TEMPLATE,
  ).action((name: string, command: string[], options: TemplateOptions) => createTemplate(cli, name, command, options));
  tableOptions(
    addCommand(templates, {
      usage: 'update <template> [command...]',
      description: 'Change the named settings only. Workers are replaced when what they run changes.',
      examples: ['templates update ocr --env MODE=fast', 'templates update ocr -- python -u handler2.py'],
    }).option('--name <name>', 'a new name'),
    TEMPLATE,
  ).action((named: string, command: string[], options: TemplateOptions) =>
    updateTemplate(cli, named, command, options),
  );
  addCommand(templates, {
    usage: 'delete <template>',
    description: 'Delete a template that no endpoint uses.',
    examples: ['templates delete ocr'],
  }).action((named: string) => deleteTemplate(cli, named));
}

function changes(options: TemplateOptions, command: readonly string[]) {
  return optionChanges<Template>(TEMPLATE, options, {
    name: options.name,
    startCommand: command.length === 0 ? undefined : [...command],
  });
}

async function listTemplates(cli: Cli): Promise<void> {
  const templates = await allPages(
    (page) => cli.core.templates.call((client) => client.listTemplates, { includePublic: false, ...page }),
    ({ templates }) => templates,
  );
  const { output } = cli;
  output.result(
    templates.map((template) => presentTemplate(template)),
    () => {
      const empty = 'There are no templates; "slipway templates create --help" shows how to make one.';
      output.table(templateColumns(output.nowMs()), templates, empty);
    },
  );
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
  if (mask.length === 0) throw new UsageError('Name a setting to change, for instance --env MODE=fast.');
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
