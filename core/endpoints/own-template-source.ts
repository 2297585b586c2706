/** Sources of template fields that a change of an endpoint's own template does not name. */
import { checkServerless } from '../domain/resources/endpoint.ts';
import type { OwnTemplateChange, OwnTemplateSettings } from '../domain/resources/own-template.ts';
import { checkNotBound, foreignTemplate, noSuchSource } from '../domain/resources/own-template.ts';
import type { Template } from '../domain/resources/template.ts';
import type { EndpointContext } from './endpoint-context.ts';

/** An existing template with the endpoint's own variables, or changed fields and the source of the others. */
export type OwnTemplateSource =
  | { link: Template; env: Record<string, string> }
  | { link?: undefined; settings: Partial<OwnTemplateSettings>; base: Template | undefined };

/**
 * Returns the source: a named template is copied once. Throws TEMPLATE_NOT_FOUND if there is none. INVALID_REQUEST: it
 * is for pods, is another endpoint's own, or belongs to another account and more than its variables would change.
 */
export async function sourceOf(
  templates: EndpointContext['templates'],
  accountId: string,
  { settings, fromTemplateId }: OwnTemplateChange,
): Promise<OwnTemplateSource> {
  if (fromTemplateId === '') return { settings, base: undefined };
  const template = await templates.usable(fromTemplateId, accountId);
  if (!template) throw noSuchSource(fromTemplateId);
  checkServerless(template);
  if (template.accountId !== accountId) {
    if (Object.keys(settings).some((field) => field !== 'env')) throw foreignTemplate();
    checkNotBound(template);
    return { link: template, env: settings.env ?? {} };
  }
  return { settings: { ...settings, env: { ...template.env, ...settings.env } }, base: template };
}
