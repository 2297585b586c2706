/** Runs `slipway export`: the account, or some endpoints, as a file for `slipway apply`. */

import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { stringify } from 'yaml';
import type { Cli } from '../cli.ts';
import { RejectedError, UsageError } from '../failures.ts';
import { HIDDEN_VALUE, hiddenVariable } from '../shared/hidden-value.ts';
import type { Account } from './account.ts';
import { ownTemplateIn, readAccount } from './account.ts';
import { OWNER } from './check-values.ts';
import { nameOf } from './plan.ts';
import type { Setting } from './sections.ts';
import { CONTAINER, SETTINGS } from './sections.ts';
import type { Variables } from './values.ts';
import { OWNER_MARK, same, toFile } from './values.ts';

/** Options of the command. */
export interface ExportOptions {
  owner?: string;
}

type Values = Record<string, unknown>;

/** Names in variables, as core reads them. */
const SECRET = /\{\{\s*RUNPOD_SECRET_([^{}]*?)\s*\}\}/g;

/** Runs the command. */
export async function runExport(cli: Cli, names: readonly string[], { owner }: ExportOptions): Promise<void> {
  if (owner !== undefined && !OWNER.test(owner))
    throw new UsageError('An owner has 1 to 63 letters, digits, dots and hyphens.');
  const account = await readAccount(cli);
  const endpoints = names.length === 0 ? account.endpoints : names.map((name) => endpointOf(account, name));
  const document = documentOf(account, endpoints, names.length === 0);
  const { output } = cli;
  if (hasHiddenValues(endpoints, account.templates))
    output.note(
      `This key may not see values of variables: they stand as ${HIDDEN_VALUE}, which no apply takes. ` +
        'Use a key that may change endpoints.',
    );
  output.result({ ...(owner !== undefined && { owner }), ...document }, () => {
    output.text('# slipway apply -f FILE; all settings: slipway apply --schema\n');
    output.text(stringify({ ...(owner !== undefined && { owner }), ...document }, { lineWidth: 0 }));
  });
}

function hasHiddenValues(endpoints: readonly Endpoint[], templates: readonly Template[]): boolean {
  const envs = [...endpoints, ...templates, ...endpoints.flatMap((endpoint) => ownTemplateIn(endpoint) ?? [])];
  return envs.some(({ env }) => hiddenVariable(env) !== undefined);
}

function endpointOf({ endpoints }: Account, named: string): Endpoint {
  const found = endpoints.find(({ id }) => id === named) ?? endpoints.find(({ name }) => name === named);
  if (found) return found;
  throw new RejectedError(`There is no endpoint ${JSON.stringify(named)}; "slipway endpoints list" shows all.`);
}

/** Returns the sections that are not empty. `whole`: also what no endpoint uses. */
function documentOf(account: Account, endpoints: readonly Endpoint[], whole: boolean): Values {
  const own = endpoints.flatMap((endpoint) => ownTemplateIn(endpoint) ?? []);
  const usedTemplates = new Set(endpoints.map(({ templateId }) => templateId));
  const templates = account.templates.filter(({ id }) => whole || usedTemplates.has(id));
  const usedVolumes = new Set(endpoints.flatMap(({ networkVolumeIds }) => networkVolumeIds));
  const usedAuths = new Set([...templates, ...own].map(({ registryAuthId }) => registryAuthId));
  const mentioned = new Set(
    [...endpoints, ...templates, ...own].flatMap(({ env }) =>
      Object.values(env).flatMap((value) => [...value.matchAll(SECRET)].map((match) => match[1]!)),
    ),
  );
  const sections = {
    secrets: account.secrets
      .filter(({ name }) => whole || mentioned.has(name))
      .map(({ name, description }) => [name, description === '' ? {} : { description }]),
    registryAuths: account.registryAuths.filter(({ id }) => whole || usedAuths.has(id)).map(({ name }) => [name, {}]),
    networkVolumes: account.networkVolumes
      .filter(({ id }) => whole || usedVolumes.has(id))
      .map(({ name, sizeGb, dataCenterId }) => [name, { size: sizeGb, dataCenterId }]),
    templates: templates.map((template) => [template.name, templateValues(account, template, SETTINGS.templates)]),
    endpoints: endpoints.map((endpoint) => [endpoint.name, endpointValues(account, endpoint)]),
  };
  const filled = Object.entries(sections).filter(([, entries]) => entries.length > 0);
  for (const [section, entries] of filled) checkNames(section, entries as [string, unknown][]);
  return Object.fromEntries(filled.map(([section, entries]) => [section, Object.fromEntries(entries)]));
}

/** Throws RejectedError if two resources have the same name: a file identifies its resources by name. */
function checkNames(section: string, entries: readonly [string, unknown][]): void {
  const names = entries.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined)
    throw new RejectedError(
      `Of the ${section} several are named ${JSON.stringify(twice)}, which a file cannot distinguish. Rename one.`,
    );
}

function templateValues({ registryAuths }: Account, template: Template, settings: readonly Setting[]): Values {
  const { registryAuthId } = template;
  return {
    ...settingValues(settings, template),
    ...(registryAuthId !== '' && { registryAuth: nameOf(registryAuths, registryAuthId) }),
  };
}

function endpointValues(account: Account, endpoint: Endpoint): Values {
  const own = ownTemplateIn(endpoint);
  const { networkVolumeIds } = endpoint;
  const isCpu = endpoint.computeType === 'CPU';
  const settings = SETTINGS.endpoints.filter(({ name }) => !(own && name === 'env') && !(isCpu && name === 'gpuCount'));
  return {
    template: own ? templateValues(account, own, CONTAINER) : nameOf(account.templates, endpoint.templateId),
    ...settingValues(settings, endpoint),
    ...(networkVolumeIds.length > 0 && {
      networkVolumes: networkVolumeIds.map((id) => nameOf(account.networkVolumes, id)),
    }),
  };
}

/** Returns the settings that differ from their defaults. */
function settingValues(settings: readonly Setting[], message: object): Values {
  const entries = settings.flatMap((setting) => {
    const { field, name, form, fallback } = setting;
    const value = field === undefined ? undefined : (message as Values)[field];
    if (field === undefined || value === undefined) return [];
    const shown = form.is === 'variables' ? withoutMark(value as Variables) : toFile(setting, value);
    const isUsual = same(shown, form.is === 'switch' ? fallback === Object.keys(form.words)[1] : fallback);
    const isEmpty = same(shown, []) || same(shown, {}) || (shown === '' && fallback === undefined);
    return isUsual || isEmpty ? [] : [[name, shown] as const];
  });
  return Object.fromEntries(entries);
}

/** Returns the variables without the owner's mark, which apply sets. */
function withoutMark(env: Variables): Variables {
  return Object.fromEntries(Object.entries(env).filter(([name]) => name !== OWNER_MARK));
}
