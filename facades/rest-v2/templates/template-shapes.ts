/** Shapes of templates in REST v2. */

import type { Static } from 'typebox';
import { Type } from 'typebox';
import { TEMPLATE } from '../../resources/templates/template-table.ts';
import { containerAnswer, containerBody, optionals } from '../container/container-part.ts';
import { persistentMount } from '../container/mounts.ts';
import { JUPYTER, SSH } from '../pods/pod-shapes.ts';
import { closed, named, word } from '../schema-parts.ts';

const NAME = { minLength: TEMPLATE.name.kind.min, maxLength: TEMPLATE.name.kind.max };
const CATEGORIES = ['CPU', 'NVIDIA', 'AMD'] as const;

const mounts = closed(
  { persistent: Type.Optional(persistentMount) },
  { description: 'Volume of the pods that are created from it.' },
);
const cudaVersions = Type.Array(Type.String({ pattern: '^\\d+\\.\\d+$' }), {
  maxItems: 0,
  description: 'Empty: a template chooses no machine. Endpoints and pods have gpu.allowedCudaVersions.',
});

const besides = {
  mounts,
  public: Type.Boolean({ description: 'True: all accounts can see and use it.' }),
  serverless: Type.Boolean({ description: 'True: for endpoints. False: for pods. Fixed after creation.' }),
  category: word(CATEGORIES, 'Kind of machine that it is for. Fixed after creation.'),
  startSsh: Type.Boolean({ description: `Pods made of it: ${SSH}` }),
  startJupyter: Type.Boolean({ description: `Pods made of it: ${JUPYTER}` }),
  allowedCudaVersions: cudaVersions,
};

/** Body that creates one. */
export const CreateTemplate = named(
  'CreateTemplateRequest',
  closed(
    {
      ...containerBody,
      ...optionals(besides),
      image: containerBody.image,
      name: Type.String({ ...NAME, description: 'Name, unique in the account.' }),
    },
    { required: ['name', 'image'] },
  ),
);
export type CreateTemplateBody = Static<typeof CreateTemplate>;

/** Body that changes a template. Absent members stay unchanged. */
export const UpdateTemplate = named(
  'UpdateTemplateRequest',
  closed({
    ...containerBody,
    ...optionals(besides),
    name: Type.Optional(Type.String({ ...NAME, description: 'Name, unique in the account.' })),
  }),
);
export type UpdateTemplateBody = Static<typeof UpdateTemplate>;

/** A template in responses. */
export const TemplateShape = named(
  'Template',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    ...containerAnswer,
    ...besides,
  }),
);
