/** Calls of TemplateService that several fields share. */
import type {
  GetTemplateResponse,
  ListTemplatesRequest,
  Template,
} from '@slipway/proto/gen/slipway/v1/template_service';
import type { GraphqlContext } from '../core-calls.ts';
import { callCore, listCore, once } from '../core-calls.ts';
import type { CoreMessage } from '../core-message.ts';

const SERVICE = 'TemplateService';

/** Reads a template that the account may use. Throws TEMPLATE_NOT_FOUND. */
export function readTemplate(id: string, context: GraphqlContext): Promise<CoreMessage<Template>> {
  return once(
    context,
    `template ${id}`,
    async () => (await callCore<GetTemplateResponse>(context, SERVICE, 'GetTemplate', { id })).template!,
  );
}

/** Returns all templates of the account, oldest first. Read once per operation. */
export function listTemplates(context: GraphqlContext): Promise<CoreMessage<Template>[]> {
  return once(context, 'templates', () => list(context, {}));
}

/** Returns all templates of the account by id, also the implicit ones of single endpoints. Read once per operation. */
export function templatesById(context: GraphqlContext): Promise<ReadonlyMap<string, CoreMessage<Template>>> {
  return once(context, 'templates by id', async () => {
    const all = await list(context, { includeBound: true });
    return new Map(all.map((template) => [template.id!, template]));
  });
}

/** Reads a list without the variables, which may be megabytes, unless the document selects them. */
function list(context: GraphqlContext, request: Partial<ListTemplatesRequest>): Promise<CoreMessage<Template>[]> {
  const withoutEnv = !context.selectsEnv;
  return listCore<Template>(context, [SERVICE, 'ListTemplates', 'templates'], { ...request, withoutEnv });
}

/** Creates a template. */
export async function createTemplate(
  template: Partial<Template>,
  context: GraphqlContext,
): Promise<CoreMessage<Template>> {
  return (await callCore<GetTemplateResponse>(context, SERVICE, 'CreateTemplate', { template })).template!;
}
