/** Templates of the source as requests of their creation here. */

import { checkFits } from '@slipway/facades/rest-v2/fits';
import type { CreateTemplateBody } from '@slipway/facades/rest-v2/templates/template-shapes';
import { CreateTemplate, TemplateShape } from '@slipway/facades/rest-v2/templates/template-shapes';
import { templateFields } from '@slipway/facades/rest-v2/templates/template-values';
import type { CreateTemplateRequest } from '@slipway/proto/gen/slipway/v1/template_service';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { containerOf, envOf, pick, unknownMembers } from './container-body.ts';
import { envNotes } from './env-notes.ts';
import type { ImportContext } from './import-context.ts';
import type { SourceRow } from './source/source-lists.ts';

/** Form of the ids of templates, here and at the source. */
const ID_FORM = /^[a-z0-9]{10}$/;

/** Returns the body of REST v2 with the ids of this account, and the example, which REST v2 does not have. */
export function templateBody(row: SourceRow, context: ImportContext): Record<string, unknown> {
  return {
    name: row.name,
    image: '',
    ...containerOf(row, context),
    ...pick(row.fields, ['mounts', 'serverless', 'category', 'exampleInput']),
  };
}

/** Returns the request, without its key, and notes for people. Throws if the template cannot be created here. */
export function templateRequest(
  row: SourceRow,
  context: ImportContext,
): { request: CreateTemplateRequest; notes: string[] } {
  const { exampleInput, ...body } = templateBody(row, context);
  checkFits(CreateTemplate, body);
  const template = Template.fromPartial({
    ...templateFields(body as unknown as CreateTemplateBody).changes,
    ...(typeof exampleInput === 'string' && { exampleInput }),
  });
  const notes = [
    ...(row.fields['public'] === true ? ['is public at the source, and private here'] : []),
    ...unknownMembers(row, [...Object.keys(TemplateShape.properties), 'exampleInput']),
    ...envNotes(envOf(row), context.origin),
  ];
  return { request: { template, requestId: '', wantedId: ID_FORM.test(row.id) ? row.id : undefined }, notes };
}
