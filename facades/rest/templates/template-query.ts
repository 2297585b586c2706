/** Path and query of templates (docs/reference/management.md#lists). */
import { Type } from 'typebox';
import { include } from '../filter.ts';

/** Path of one template. */
export const TemplatePath = Type.Object({ templateId: Type.String({ description: 'Id of the template.' }) });

/** Query of the reads. */
export const TemplateQuery = Type.Object({
  includeEndpointBoundTemplates: include('Add the templates that one endpoint alone runs.'),
  includePublicTemplates: include('Add the public templates of other accounts.'),
  includeRunpodTemplates: include('Taken and without effect: there are no templates of the house.'),
});
