/**
 * Shapes of templates on the REST surface (docs/reference/management.md#templates). They validate requests, serialize
 * responses and make the OpenAPI document.
 */

import type { Static } from 'typebox';
import { Type } from 'typebox';
import { bodyMembers, recordMembers } from '../rest-shapes.ts';
import type { RestBody, RestRecord } from '../rest-values.ts';
import { TEMPLATE } from './template-table.ts';

const EXAMPLE = { name: 'ocr', imageName: 'ocr:1', dockerStartCmd: ['python', '-u', 'handler.py'], isServerless: true };

/** Body of POST /templates. */
export const TemplateCreateInput = Type.Object(bodyMembers(TEMPLATE, { creates: true }), {
  $id: 'TemplateCreateInput',
  examples: [EXAMPLE],
});
export type TemplateCreateInput = TemplateUpdateInput & { name: string; imageName: string };

/** Body of PATCH /templates/{templateId}. Absent members stay unchanged. */
export const TemplateUpdateInput = Type.Object(bodyMembers(TEMPLATE), {
  $id: 'TemplateUpdateInput',
  examples: [{ imageName: 'ocr:2' }],
});
export type TemplateUpdateInput = RestBody<typeof TEMPLATE>;

/** Members of a template's record besides its settings. */
const more = Type.Object({
  id: Type.String(),
  earned: Type.Number({ description: 'Always 0: templates earn nothing.' }),
  isRunpod: Type.Boolean({ description: 'Always false: the service provides no templates.' }),
  runtimeInMin: Type.Integer({ description: 'Always 0: use is counted by endpoint and by pod, see billing.' }),
});

const { id, ...others } = more.properties;

/** A template in responses. */
export const TemplateRecord = Type.Object({ id, ...recordMembers(TEMPLATE), ...others }, { $id: 'Template' });
export type TemplateRecord = RestRecord<typeof TEMPLATE> & Static<typeof more>;
