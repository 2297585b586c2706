/** Contract templates to the public schema's fields. */
import type { Template } from '../../../proto/gen/slipway/v1/template_service.ts';
import { numberOf } from '../core-message.ts';
import type { CoreMessage } from '../core-message.ts';
import { commandText } from '../../resources/command-line.ts';
import { textOf, variablesOf } from '../list-text.ts';

/** PodTemplate of the public schema. */
export function presentTemplate(template: CoreMessage<Template>) {
  return {
    id: template.id ?? '',
    name: template.name ?? '',
    imageName: template.imageName ?? '',
    dockerArgs: commandText(template.startCommand ?? []),
    containerDiskInGb: numberOf(template.containerDiskGb),
    volumeInGb: numberOf(template.volumeGb),
    volumeMountPath: template.volumeMountPath ?? '',
    ports: textOf(template.ports),
    portsConfig: [],
    env: variablesOf(template.env),
    isServerless: template.serverless ?? false,
    isPublic: template.public ?? false,
    isRunpod: false,
    readme: template.readme ?? '',
    category: template.category || null,
    containerRegistryAuthId: template.registryAuthId || null,
    startSsh: false,
    startJupyter: false,
    startScript: '',
    advancedStart: false,
  };
}
