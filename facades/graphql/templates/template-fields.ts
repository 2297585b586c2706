/** Public template settings of GraphQL to contract fields. */
import type { Template } from '../../../proto/gen/slipway/v1/template_service.ts';
import { change, noChanges } from '../../resources/mask-fields.ts';
import type { FieldChanges } from '../../resources/mask-fields.ts';
import { commandOf, environmentOf, listOf } from '../list-text.ts';
import type { EnvironmentVariable } from '../list-text.ts';

/** SaveTemplateInput of the public schema. Null counts as not given. */
export interface TemplateInput {
  id?: string | null;
  name?: string | null;
  imageName?: string | null;
  dockerArgs?: string | null;
  containerDiskInGb?: number | null;
  volumeInGb?: number | null;
  volumeMountPath?: string | null;
  ports?: string | null;
  env?: EnvironmentVariable[] | null;
  isServerless?: boolean | null;
  isPublic?: boolean | null;
  readme?: string | null;
  containerRegistryAuthId?: string | null;
  category?: string | null;
}

/** The fields that an input names. */
export function templateFields(input: TemplateInput): FieldChanges<Template> {
  const fields = noChanges<Template>();
  change(fields, 'name', input.name ?? undefined);
  change(fields, 'imageName', input.imageName ?? undefined);
  const command = commandOf(input.dockerArgs);
  change(fields, 'startCommand', command?.startCommand);
  change(fields, 'entrypoint', command?.entrypoint);
  change(fields, 'containerDiskGb', input.containerDiskInGb ?? undefined);
  change(fields, 'volumeGb', input.volumeInGb ?? undefined);
  change(fields, 'volumeMountPath', input.volumeMountPath ?? undefined);
  change(fields, 'ports', typeof input.ports === 'string' ? listOf(input.ports) : undefined);
  change(fields, 'env', input.env ? environmentOf(input.env) : undefined);
  change(fields, 'serverless', input.isServerless ?? undefined);
  change(fields, 'public', input.isPublic ?? undefined);
  change(fields, 'readme', input.readme ?? undefined);
  change(fields, 'registryAuthId', input.containerRegistryAuthId ?? undefined);
  change(fields, 'category', input.category ?? undefined);
  return fields;
}
