/** A template for programs, with the names of GET /v1/templates/{templateId}, and for people. */
import type { Template } from '../../../proto/gen/slipway/v1/template_service.ts';
import type { Column, Field } from '../output/table.ts';
import { ago, commandLine, moment, variables } from '../output/words.ts';

/** The record for programs. */
export function presentTemplate(template: Template) {
  return {
    id: template.id,
    name: template.name,
    imageName: template.imageName,
    category: template.category,
    containerDiskInGb: template.containerDiskGb,
    ...(template.registryAuthId === '' ? {} : { containerRegistryAuthId: template.registryAuthId }),
    dockerEntrypoint: template.entrypoint,
    dockerStartCmd: template.startCommand,
    env: template.env,
    isPublic: template.public,
    isRunpod: false,
    isServerless: template.serverless,
    ports: template.ports,
    readme: template.readme,
    volumeInGb: template.volumeGb,
    volumeMountPath: template.volumeMountPath,
    ...(template.workingDirectory === '' ? {} : { workingDirectory: template.workingDirectory }),
  };
}

/** Columns of the list. */
export function templateColumns(nowMs: number): Column<Template>[] {
  return [
    { title: 'ID', text: ({ id }) => id },
    { title: 'NAME', text: ({ name }) => name },
    { title: 'FOR', text: madeFor },
    { title: 'CREATED', text: ({ createTime }) => ago(createTime, nowMs) },
    { title: 'IMAGE OR COMMAND', text: ({ imageName, startCommand }) => commandLine(startCommand) || imageName },
  ];
}

/** Fields of one template. */
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
    ['env', variables(template.env)],
    ['readme', template.readme],
    ['created', moment(template.createTime, nowMs)],
  ];
}

function madeFor({ serverless }: Template): string {
  return serverless ? 'endpoints' : 'pods';
}
