/** Shapes of templates on the REST surface (docs/management.md#templates). They check requests, shape answers and make the OpenAPI document. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { oneOf } from '../one-of.ts';
import { optional } from '../optional.ts';
import { Port } from '../port.ts';
import { textMap } from '../text-map.ts';
import { withDefaults } from '../with-defaults.ts';

const Words = (description: string) => Type.Array(Type.String({ maxLength: 131_072 }), { maxItems: 1_000, description });
const category = oneOf(['NVIDIA', 'AMD', 'CPU'], 'Kind of machine it is made for. Default NVIDIA. Fixed after creation.');
const Name = Type.String({ minLength: 1, maxLength: 191, description: 'Unique in the account.' });
const ImageName = Type.String({
  maxLength: 4_096, description: 'Container image. Empty: dockerStartCmd is a command of the host, on machines whose operator allows that.',
});

/** Fields that create and update share; none is required here. A change may name the fixed ones with the value that they have. */
const settings = {
  category: optional(category),
  containerDiskInGb: optional(Type.Integer({ minimum: 1, maximum: 65_536, description: 'Disk of the container in GB. Default 50.' })),
  containerRegistryAuthId: optional(Type.String({ maxLength: 191, description: 'Credentials for the image\'s registry; empty: none.' })),
  dockerEntrypoint: optional(Words('Replaces the image\'s entry point.')),
  dockerStartCmd: optional(Words('Command line; with the process executor the program and its arguments.')),
  env: optional(textMap('Environment of the workers.')),
  isPublic: optional(Type.Boolean({ description: 'Visible to all accounts. Default false.' })),
  isServerless: optional(Type.Boolean({ description: 'Made for endpoints rather than for pods. Default false. Fixed after creation.' })),
  ports: optional(Type.Array(Port, {
    maxItems: 100, description: 'Exposed ports. Default 8888/http and 22/tcp; none for endpoints.',
  })),
  readme: optional(Type.String({ maxLength: 1_000_000, description: 'Markdown for people.' })),
  volumeInGb: optional(Type.Integer({ minimum: 0, maximum: 65_536, description: 'Pod volume in GB. Default 20; 0 for endpoints.' })),
  volumeMountPath: optional(Type.String({ maxLength: 4_096, description: 'Where volumes appear. Default /workspace.' })),
  workingDirectory: optional(Type.String({ maxLength: 4_096, description: 'Working directory of workers. An extension.' })),
};

const EXAMPLE = { name: 'ocr', imageName: 'ocr:1', dockerStartCmd: ['python', '-u', 'handler.py'], isServerless: true };

/** Those of ports and volume differ between templates for pods and for endpoints. */
const DEFAULTS = {
  category: 'NVIDIA', containerDiskInGb: 50, dockerEntrypoint: [], dockerStartCmd: [], env: {}, isPublic: false, isServerless: false, readme: '',
  volumeMountPath: '/workspace',
};

/** Body of POST /templates. */
export const TemplateCreateInput = Type.Object({
  ...withDefaults(settings, DEFAULTS),
  name: Name,
  imageName: ImageName,
}, { $id: 'TemplateCreateInput', examples: [EXAMPLE] });
export type TemplateCreateInput = Static<typeof TemplateCreateInput>;

/** Body of PATCH /templates/{templateId}: what is left out stays as it is. */
export const TemplateUpdateInput = Type.Object({
  ...settings,
  name: optional(Name),
  imageName: optional(ImageName),
}, { $id: 'TemplateUpdateInput', examples: [{ imageName: 'ocr:2' }] });
export type TemplateUpdateInput = Static<typeof TemplateUpdateInput>;

/** A template as it is answered. */
export const TemplateRecord = Type.Object({
  id: Type.String(),
  name: Type.String(),
  imageName: Type.String(),
  category,
  containerDiskInGb: Type.Integer(),
  containerRegistryAuthId: Type.Optional(Type.String()),
  dockerEntrypoint: Type.Array(Type.String()),
  dockerStartCmd: Type.Array(Type.String()),
  earned: Type.Number({ description: 'Always 0: templates earn nothing here.' }),
  env: textMap('Environment of the workers.'),
  isPublic: Type.Boolean(),
  isRunpod: Type.Boolean({ description: 'Always false: there are no templates of the house.' }),
  isServerless: Type.Boolean(),
  ports: Type.Array(Type.String()),
  readme: Type.String(),
  runtimeInMin: Type.Integer({ description: 'Always 0: it is metered by endpoint and pod, see billing.' }),
  volumeInGb: Type.Integer(),
  volumeMountPath: Type.String(),
  workingDirectory: Type.Optional(Type.String()),
}, { $id: 'Template' });
export type TemplateRecord = Static<typeof TemplateRecord>;
