/** Path and query of templates (docs/reference/management.md#lists). */
import { Type } from 'typebox';
import { include } from '../filter.ts';

/** Path of one template. */
export const TemplatePath = Type.Object({ templateId: Type.String({ description: 'Id of the template.' }) });

/** Query of the reads. */
export const TemplateQuery = Type.Object({
  includeEndpointBoundTemplates: include('Adds templates that belong to one endpoint.'),
  includePublicTemplates: include('Adds the public templates of other accounts.'),
  includeRunpodTemplates: include('Accepted without effect: the service provides no templates.'),
});
