/** Templates in REST v2. */

import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { Type } from 'typebox';
import type { Operation } from '../operation.ts';
import { creation, once, operation, repeatable } from '../operation.ts';
import { answerPage, listOf, PageQuery } from '../pages.ts';
import { named } from '../schema-parts.ts';
import { CreateTemplate, TemplateShape, UpdateTemplate } from './template-shapes.ts';
import { presentTemplate, templateFields } from './template-values.ts';

const ONE = '/v2/templates/{templateId}';
const TAG = { tag: 'templates' };

/** The operations. */
export const templateOperations: readonly Operation[] = [
  operation({
    ...TAG,
    id: 'ListTemplates',
    method: 'GET',
    path: '/v2/templates',
    summary: 'List the templates of the account, the newest first',
    query: Type.Object({ ...PageQuery.properties }),
    status: 200,
    answer: named('ListTemplatesResponse', listOf('templates', TemplateShape, 'Newest first.')),
    handle: (call, { core }) =>
      answerPage(call, 'ListTemplates', 'templates', {
        read: (page) =>
          core.templates.call((client) => client.listTemplates, { includePublic: false, ...page }, repeatable(call)),
        present: ({ templates }) => templates.map(presentTemplate),
      }),
  }),
  operation({
    ...TAG,
    id: 'CreateTemplate',
    method: 'POST',
    path: '/v2/templates',
    summary: 'Create a template',
    body: CreateTemplate,
    status: 201,
    answer: TemplateShape,
    creates: true,
    handle: async (call, { core }) => {
      const { requestId, options } = creation(call);
      const { startSsh = true, startJupyter = true } = call.body;
      const { changes } = templateFields({ ...call.body, startSsh, startJupyter });
      const template = Template.fromPartial(changes);
      const made = await core.templates.call((client) => client.createTemplate, { template, requestId }, options);
      return presentTemplate(made.template);
    },
  }),
  operation({
    ...TAG,
    id: 'GetTemplate',
    method: 'GET',
    path: ONE,
    summary: 'Read a template of the account, or a public one of another account',
    status: 200,
    answer: TemplateShape,
    handle: async (call, { core }) => {
      const id = call.path['templateId']!;
      return presentTemplate(
        (await core.templates.call((client) => client.getTemplate, { id }, repeatable(call))).template,
      );
    },
  }),
  operation({
    ...TAG,
    id: 'UpdateTemplate',
    method: 'PATCH',
    path: ONE,
    summary: 'Change a template (members that are left out stay as they are)',
    body: UpdateTemplate,
    status: 200,
    answer: TemplateShape,
    handle: async (call, { core }) => {
      const id = call.path['templateId']!;
      const { changes, mask } = templateFields(call.body);
      const update = { template: Template.fromPartial({ ...changes, id }), updateMask: mask };
      // An empty change is no error: the template is returned unchanged.
      const { template } =
        mask.length === 0
          ? await core.templates.call((client) => client.getTemplate, { id }, repeatable(call))
          : await core.templates.call((client) => client.updateTemplate, update, repeatable(call));
      return presentTemplate(template);
    },
  }),
  operation({
    ...TAG,
    id: 'DeleteTemplate',
    method: 'DELETE',
    path: ONE,
    summary: 'Delete a template that nothing uses',
    status: 204,
    errors: [400],
    handle: async (call, { core }) => {
      await core.templates.call((client) => client.deleteTemplate, { id: call.path['templateId']! }, once(call));
    },
  }),
];
