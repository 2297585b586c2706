/** Templates between the contract and the domain. */
import type { Template as TemplateMessage } from '../../proto/gen/slipway/v1/template_service.ts';
import { invalid } from '../domain/fields.ts';
import { TEMPLATE_DEFAULTS } from '../domain/template.ts';
import type { Template, TemplateSettings } from '../domain/template.ts';
import { changeFromMask } from './update-mask.ts';
import type { FieldReaders } from './update-mask.ts';

/** A template for an account. Of other accounts' environments only the names are shown, and of their registry credentials nothing. */
export function templateToMessage({ accountId, createdAt, registryAuthId, env, ...rest }: Template, readerId: string): TemplateMessage {
  const own = accountId === readerId;
  const names = (): Record<string, string> => Object.fromEntries(Object.keys(env).map((name) => [name, '']));
  return { ...rest, env: own ? env : names(), registryAuthId: own ? registryAuthId ?? '' : '', createTime: createdAt };
}

/** A creation with the defaults written at each field. */
export function templateFromMessage(template: TemplateMessage | undefined): TemplateSettings {
  if (!template) throw invalid('template is required');
  const { id: _id, createTime: _createTime, version: _version, registryAuthId, ...rest } = template;
  return {
    ...rest,
    containerDiskGb: rest.containerDiskGb || TEMPLATE_DEFAULTS.containerDiskGb,
    volumeMountPath: rest.volumeMountPath || TEMPLATE_DEFAULTS.volumeMountPath,
    category: rest.category || TEMPLATE_DEFAULTS.category,
    registryAuthId: registryAuthId || null,
  };
}

/** How each field that may be named in an update mask gets its new value. The fixed ones may be named with the value that they have. */
const CHANGES: FieldReaders<TemplateMessage, Partial<TemplateSettings>> = {
  name: ({ name }) => ({ name }),
  image_name: ({ imageName }) => ({ imageName }),
  start_command: ({ startCommand }) => ({ startCommand }),
  entrypoint: ({ entrypoint }) => ({ entrypoint }),
  env: ({ env }) => ({ env }),
  working_directory: ({ workingDirectory }) => ({ workingDirectory }),
  container_disk_gb: ({ containerDiskGb }) => ({ containerDiskGb }),
  volume_gb: ({ volumeGb }) => ({ volumeGb }),
  volume_mount_path: ({ volumeMountPath }) => ({ volumeMountPath }),
  ports: ({ ports }) => ({ ports }),
  registry_auth_id: ({ registryAuthId }) => ({ registryAuthId: registryAuthId || null }),
  public: (template) => ({ public: template.public }),
  readme: ({ readme }) => ({ readme }),
  category: ({ category }) => ({ category }),
  serverless: ({ serverless }) => ({ serverless }),
};

/** A change from an update mask. INVALID_REQUEST: the mask is empty or names a field that cannot be changed. */
export function templateChangeFromMessage(template: TemplateMessage, mask: readonly string[]): Partial<TemplateSettings> {
  return changeFromMask(template, mask, CHANGES);
}
