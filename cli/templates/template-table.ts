/** Presents a template to people. Programs get the record of the REST API. */

import { TEMPLATE } from '@slipway/facades/resources/templates/template-table';
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { Column, Field } from '../output/table.ts';
import { ago, commandLine, moment } from '../output/words.ts';
import { tableRows } from '../table-options.ts';

/** Returns the columns of the list. */
export function templateColumns(nowMs: number): Column<Template>[] {
  return [
    { title: 'ID', text: ({ id }) => id },
    { title: 'NAME', text: ({ name }) => name },
    { title: 'FOR', text: madeFor },
    { title: 'CREATED', text: ({ createTime }) => ago(createTime, nowMs) },
    {
      title: 'IMAGE OR COMMAND',
      text: ({ imageName, startCommand }) => [imageName, commandLine(startCommand)].filter(Boolean).join(' '),
    },
  ];
}

/** Returns the fields of one template. */
export function templateFields(template: Template, nowMs: number): Field[] {
  return [
    ['id', template.id],
    ['name', template.name],
    ['for', `${madeFor(template)}, ${template.category}${template.public ? ', visible to all accounts' : ''}`],
    ['image', template.imageName],
    ['entrypoint', commandLine(template.entrypoint)],
    ['command', commandLine(template.startCommand)],
    ['directory', template.workingDirectory],
    ['disk', `${template.containerDiskGb} GB`],
    ['volume', template.volumeGb === 0 ? '' : `${template.volumeGb} GB at ${template.volumeMountPath}`],
    ['ports', template.ports.join(', ')],
    ['registry', template.registryAuthId],
    ...tableRows(TEMPLATE, template),
    ['created', moment(template.createTime, nowMs)],
  ];
}

function madeFor({ serverless }: Template): string {
  return serverless ? 'endpoints' : 'pods';
}
