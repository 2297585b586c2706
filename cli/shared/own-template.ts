/** Settings of an endpoint's own template, as `deploy`, `duplicate` and `apply` send them. */
import { TEMPLATE } from '@slipway/facades/resources/templates/template-table';
import type { OwnTemplate } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { Changes } from '../changes.ts';

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

/** Returns the part of a request. */
export function ownTemplateOf({ fields, mask }: Changes<Template>): OwnTemplate {
  return { template: Template.fromPartial(fields), updateMask: mask, fromTemplateId: '' };
}
