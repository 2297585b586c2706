/** Templates that other accounts share, in REST v2. */
import { Type } from 'typebox';
import type { Operation } from '../operation.ts';
import { operation, repeatable } from '../operation.ts';
import { named, word } from '../schema-parts.ts';
import { TemplateShape } from '../templates/template-shapes.ts';
import { presentTemplate } from '../templates/template-values.ts';

const LIST_MAX = 100;
const OWN_PAGE = 1_000;

/** The operation. */
export const publicTemplates: Operation = operation({
  tag: 'catalog',
  id: 'ListPublicTemplates',
  method: 'GET',
  path: '/v2/catalog/templates',
  summary: 'List public templates of other accounts',
  query: Type.Object({
    source: Type.Optional(
      word(
        ['official', 'verified', 'community'],
        'Who published them: official (default) or community. There are no official ones; public ' +
          'templates of other accounts are community.',
      ),
    ),
  }),
  status: 200,
  answer: named(
    'ListPublicTemplatesResponse',
    Type.Object({ templates: Type.Array(TemplateShape, { description: `At most ${LIST_MAX}.` }) }),
  ),
  handle: async (call, { core }) => {
    if (call.query.source !== 'community') return { templates: [] };
    const page = {
      pageSize: OWN_PAGE,
      view: { search: '', orderBy: 'created', descending: true, filters: { public: 'yes' } },
    };
    const [all, own] = await Promise.all([
      core.templates.call((client) => client.listTemplates, { includePublic: true, ...page }, repeatable(call)),
      core.templates.call((client) => client.listTemplates, { includePublic: false, ...page }, repeatable(call)),
    ]);
    const mine = new Set(own.templates.map(({ id }) => id));
    return {
      templates: all.templates
        .filter(({ id }) => !mine.has(id))
        .slice(0, LIST_MAX)
        .map(presentTemplate),
    };
  },
});
