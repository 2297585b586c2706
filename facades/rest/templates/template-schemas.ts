/** Shapes of templates on the REST surface (compat.md 3.6). They check requests, shape answers and make the OpenAPI document. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { oneOf } from '../one-of.ts';

const Words = (description: string) => Type.Array(Type.String({ maxLength: 131_072 }), { maxItems: 1_000, description });
const category = oneOf(['NVIDIA', 'AMD', 'CPU'], 'Kind of machine it is made for. Default NVIDIA.');

/** Fields that create and update share; none is required here. */
const settings = {
  containerDiskInGb: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_536, description: 'Disk of the container in GB. Default 50.' })),
  containerRegistryAuthId: Type.Optional(Type.String({ maxLength: 191, description: 'Credentials for the image\'s registry.' })),
  dockerEntrypoint: Type.Optional(Words('Replaces the image\'s entry point.')),
  dockerStartCmd: Type.Optional(Words('Command line; with the process executor the program and its arguments.')),
  env: Type.Optional(Type.Record(Type.String(), Type.String(), { description: 'Environment of the workers.' })),
  isPublic: Type.Optional(Type.Boolean({ description: 'Visible to all accounts. Default false.' })),
  ports: Type.Optional(Type.Array(Type.String({ maxLength: 32 }), { maxItems: 100, description: 'Exposed ports: 8888/http, 22/tcp.' })),
  readme: Type.Optional(Type.String({ maxLength: 1_000_000, description: 'Markdown for people.' })),
  volumeInGb: Type.Optional(Type.Integer({ minimum: 0, maximum: 65_536, description: 'Pod volume in GB. Default 0.' })),
  volumeMountPath: Type.Optional(Type.String({ maxLength: 4_096, description: 'Where volumes appear. Default /workspace.' })),
  workingDirectory: Type.Optional(Type.String({ maxLength: 4_096, description: 'Working directory of workers. An extension.' })),
};

/** Body of POST /templates. */
export const TemplateCreateInput = Type.Object({
  ...settings,
  name: Type.String({ maxLength: 191, description: 'Unique in the account.' }),
  imageName: Type.String({ maxLength: 4_096, description: 'Container image.' }),
  category: Type.Optional(category),
  isServerless: Type.Optional(Type.Boolean({ description: 'Made for endpoints rather than for pods. Default false.' })),
}, { $id: 'TemplateCreateInput' });
export type TemplateCreateInput = Static<typeof TemplateCreateInput>;

/** Body of PATCH /templates/{templateId}: what is left out stays as it is. */
export const TemplateUpdateInput = Type.Object({
  ...settings,
  name: Type.Optional(Type.String({ maxLength: 191 })),
  imageName: Type.Optional(Type.String({ maxLength: 4_096 })),
}, { $id: 'TemplateUpdateInput' });
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
  env: Type.Record(Type.String(), Type.String()),
  isPublic: Type.Boolean(),
  isRunpod: Type.Boolean({ description: 'Always false: there are no templates of the house.' }),
  isServerless: Type.Boolean(),
  ports: Type.Array(Type.String()),
  readme: Type.String(),
  volumeInGb: Type.Integer(),
  volumeMountPath: Type.String(),
  workingDirectory: Type.Optional(Type.String()),
}, { $id: 'Template' });
export type TemplateRecord = Static<typeof TemplateRecord>;

/** Path of one template. */
export const TemplatePath = Type.Object({ templateId: Type.String({ description: 'Id of the template.' }) });
