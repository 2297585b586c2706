/** Templates between the bodies of REST v2 and the contract. */
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FieldChanges } from '../../resources/mask-fields.ts';
import { change, noChanges } from '../../resources/mask-fields.ts';
import { containerFields, presentContainer } from '../container/container-part.ts';
import { presentMounts } from '../container/mounts.ts';
import type { CreateTemplateBody, UpdateTemplateBody } from './template-shapes.ts';

/** Returns the fields that a body names. */
export function templateFields(body: CreateTemplateBody | UpdateTemplateBody): FieldChanges<Template> {
  const changes = noChanges<Template>();
  const { name, mounts, serverless, category } = body;
  const given: { [Name in keyof Template]?: Template[Name] | undefined } = {
    name,
    ...containerFields(body),
    public: body.public,
    serverless,
    category,
    startSsh: body.startSsh,
    startJupyter: body.startJupyter,
    // The mounts are replaced whole.
    volumeGb: mounts && (mounts.persistent?.size ?? 0),
    volumeMountPath: mounts?.persistent?.path,
  };
  for (const [field, value] of Object.entries(given)) change(changes, field as keyof Template & string, value as never);
  return changes;
}

/** Returns a template for a response. */
export function presentTemplate(template: Template | undefined): object {
  if (template === undefined) throw new CoreError('INTERNAL', 'core answered without a template');
  const { id, name, serverless, category } = template;
  return {
    id,
    name,
    ...presentContainer(template),
    mounts: presentMounts(template),
    serverless,
    public: template.public,
    category,
    startSsh: template.startSsh ?? false,
    startJupyter: template.startJupyter ?? false,
    allowedCudaVersions: [],
  };
}
