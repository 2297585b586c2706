/** Creates, changes, renames and deletes own templates of endpoints, in the transaction of the endpoint. */
import { and, eq, ne, sql } from '@slipway/drizzle/orm';
import { endpoint } from '@slipway/drizzle/schema/endpoint';
import { givenTemplate } from '@slipway/drizzle/schema/given-template';
import { template } from '@slipway/drizzle/schema/template';
import type { Sealer } from '@slipway/kit/host/seal';
import { ownTemplateName } from '../../domain/resources/own-template.ts';
import type { Template, TemplateSettings } from '../../domain/resources/template.ts';
import { templateReplacesWorkers } from '../../domain/resources/template.ts';
import { templateEnvIdentity } from '../../domain/settings/sealed-identity.ts';
import type { Transaction } from '../sql/database.ts';
import { openEnv, sealEnv } from '../sql/env-seals.ts';
import { asPinned } from './pinned-template-rows.ts';
import { holdRegistryAuth } from './registry-auth-rows.ts';

/** An own template to create with its endpoint, or for it. */
export interface NewOwnTemplate {
  id: string;
  settings: TemplateSettings;
}

/** The account and endpoint that own a template. */
interface Owner {
  accountId: string;
  endpointId: string;
}

/** Creates an own template. Throws INVALID_REQUEST if its registry credentials are not in the account. */
export async function insertOwnTemplate(
  tx: Transaction,
  sealer: Sealer,
  { accountId, endpointId }: Owner,
  { id, settings }: NewOwnTemplate,
): Promise<void> {
  await holdRegistryAuth(tx, accountId, settings.registryAuthId);
  await tx.insert(template).values({
    ...settings,
    ...sealEnv(sealer, settings.env, templateEnvIdentity(id)),
    id,
    accountId,
    boundEndpointId: endpointId,
  });
}

/** Returns the template that an endpoint runs, locked. `undefined` if there is no such endpoint in this account. */
export async function lockRunTemplate(
  tx: Transaction,
  sealer: Sealer,
  { accountId, endpointId }: Owner,
): Promise<Template | undefined> {
  const [found] = await tx
    .select({ template, given: givenTemplate })
    .from(endpoint)
    .innerJoin(template, eq(template.id, endpoint.templateId))
    .leftJoin(givenTemplate, eq(givenTemplate.endpointId, endpoint.id))
    .where(and(eq(endpoint.id, endpointId), eq(endpoint.accountId, accountId)))
    .for('update', { of: template });
  if (!found) return undefined;
  const { envSealed, secretNames: _names, ...row } = asPinned(found.template, found.given);
  return { ...row, env: openEnv(sealer, { env: row.env, envSealed }, templateEnvIdentity(row.id)) };
}

/**
 * Gives an endpoint an own template with these settings. An existing own template is changed; a template that others
 * may run stays as it is. `run`: the endpoint's current template, locked. Returns the id of the new template, and
 * whether the workers must be replaced. Throws INVALID_REQUEST if the registry credentials are not in the account.
 */
export async function saveOwnTemplate(
  tx: Transaction,
  sealer: Sealer,
  owner: Owner,
  run: Template,
  own: NewOwnTemplate,
): Promise<{ templateId: string; replacesWorkers: boolean }> {
  const replaces = templateReplacesWorkers(run, own.settings);
  if (run.boundEndpointId !== owner.endpointId) {
    await insertOwnTemplate(tx, sealer, owner, own);
    return { templateId: own.id, replacesWorkers: replaces };
  }
  const { settings } = own;
  if (settings.registryAuthId !== run.registryAuthId)
    await holdRegistryAuth(tx, owner.accountId, settings.registryAuthId);
  const version = replaces ? { version: sql`${template.version} + 1` } : {};
  await tx
    .update(template)
    .set({ ...settings, ...sealEnv(sealer, settings.env, templateEnvIdentity(run.id)), ...version })
    .where(eq(template.id, run.id));
  return { templateId: run.id, replacesWorkers: replaces };
}

/** Renames an endpoint's own template with it. */
export async function renameOwnTemplate(tx: Transaction, endpointId: string, endpointName: string): Promise<void> {
  await tx
    .update(template)
    .set({ name: ownTemplateName(endpointName, endpointId) })
    .where(eq(template.boundEndpointId, endpointId));
}

/**
 * Deletes an endpoint's own template once the endpoint no longer runs it. `runs`: the template that it runs;
 * `undefined` if the endpoint is deleted.
 */
export async function dropOwnTemplate(tx: Transaction, endpointId: string, runs?: string): Promise<void> {
  const own = eq(template.boundEndpointId, endpointId);
  await tx.delete(template).where(runs === undefined ? own : and(own, ne(template.id, runs)));
}
