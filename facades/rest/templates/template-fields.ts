/** Public template settings to contract fields. */
import type { Template } from '../../../proto/gen/slipway/v1/template_service.ts';
import { change, noChanges } from '../../resources/mask-fields.ts';
import type { FieldChanges } from '../../resources/mask-fields.ts';
import type { TemplateCreateInput, TemplateUpdateInput } from '../../resources/templates/template-schemas.ts';
import { usableEnv } from '../../resources/text-map.ts';

/** What this surface promises for templates of pods (docs/management.md#templates); endpoints use neither. */
const POD_DEFAULTS = { volumeInGb: 20, ports: ['8888/http', '22/tcp'] };

/** The fields of a new template. */
export function newTemplateFields(input: TemplateCreateInput): Partial<Template> {
  return templateFields(input.isServerless === true ? input : { ...POD_DEFAULTS, ...input }).changes;
}

/** The fields that a body names. */
export function templateFields(input: TemplateCreateInput | TemplateUpdateInput): FieldChanges<Template> {
  const fields = noChanges<Template>();
  change(fields, 'name', input.name);
  change(fields, 'imageName', input.imageName);
  change(fields, 'startCommand', input.dockerStartCmd);
  change(fields, 'entrypoint', input.dockerEntrypoint);
  change(fields, 'env', usableEnv(input.env));
  change(fields, 'workingDirectory', input.workingDirectory);
  change(fields, 'containerDiskGb', input.containerDiskInGb);
  change(fields, 'volumeGb', input.volumeInGb);
  change(fields, 'volumeMountPath', input.volumeMountPath);
  change(fields, 'ports', input.ports);
  change(fields, 'registryAuthId', input.containerRegistryAuthId);
  change(fields, 'public', input.isPublic);
  change(fields, 'readme', input.readme);
  change(fields, 'category', input.category);
  change(fields, 'serverless', input.isServerless);
  return fields;
}
