/** Settings of an endpoint's own template, as the console and the command line send them. */
import type { OwnTemplate } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { TEMPLATE } from './template-table.ts';

const { imageName, startCommand, entrypoint, env, workingDirectory } = TEMPLATE;
const { containerDiskGb, volumeMountPath, ports, registryAuthId } = TEMPLATE;

/** Settings of a template that an endpoint can have alone. */
export const OWN_TEMPLATE = {
  imageName,
  startCommand,
  entrypoint,
  env,
  workingDirectory,
  containerDiskGb,
  volumeMountPath,
  ports,
  registryAuthId,
};

/** Returns the part of a request that sets these fields. `mask`: their names in the contract. */
export function ownTemplateOf(fields: Partial<Template>, mask: string[]): OwnTemplate {
  return { template: Template.fromPartial(fields), updateMask: mask, fromTemplateId: '' };
}
