/** Contract template to public record. */
import type { Template } from '../../../proto/gen/slipway/v1/template_service.ts';
import { CoreError } from '../../../proto/wire/reason.ts';
import type { TemplateRecord } from './template-schemas.ts';

/** The public record. */
export function presentTemplate(template: Template | undefined): TemplateRecord {
  if (template === undefined) throw new CoreError('INTERNAL', 'core answered without a template');
  return {
    id: template.id,
    name: template.name,
    imageName: template.imageName,
    category: template.category === 'AMD' || template.category === 'CPU' ? template.category : 'NVIDIA',
    containerDiskInGb: template.containerDiskGb,
    ...(template.registryAuthId === '' ? {} : { containerRegistryAuthId: template.registryAuthId }),
    dockerEntrypoint: template.entrypoint,
    dockerStartCmd: template.startCommand,
    earned: 0,
    env: template.env,
    isPublic: template.public,
    isRunpod: false,
    isServerless: template.serverless,
    ports: template.ports,
    readme: template.readme,
    runtimeInMin: 0,
    volumeInGb: template.volumeGb,
    volumeMountPath: template.volumeMountPath,
    ...(template.workingDirectory === '' ? {} : { workingDirectory: template.workingDirectory }),
  };
}
