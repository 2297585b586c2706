/** Compares files with the account: what is to be created, changed and deleted. Changes nothing. */

import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { Cli } from '../cli.ts';
import { UsageError } from '../failures.ts';
import type { Account } from './account.ts';
import { ownTemplateIn } from './account.ts';
import { isRecord } from './check-values.ts';
import { planSecretValue } from './plan-secret-value.ts';
import { prunable } from './prunable.ts';
import type { Desired } from './read-files.ts';
import type { Section } from './sections.ts';
import { CONTAINER, FIXED, SECTIONS, SETTINGS, WORDS } from './sections.ts';
import type { EntryContext, PlanOptions, Step } from './steps.ts';
import type { Change, Variables } from './values.ts';
import { differences, markedEnv, OWNER_MARK, same } from './values.ts';

/** Returns the steps in their order. Throws UsageError with everything that cannot be. */
export function planApply(cli: Cli, wanted: Desired, account: Account, options: PlanOptions): Step[] {
  const faults: string[] = [];
  const steps = SECTIONS.flatMap((section) =>
    [...wanted.entries[section]].flatMap(([name, entry]) => {
      const found = (account[section] as { id: string; name: string }[]).filter((known) => known.name === name);
      const fault = (text: string): void => {
        faults.push(`${entry.file}: ${WORDS[section]} ${JSON.stringify(name)} ${text}`);
      };
      if (found.length > 1) {
        fault(`is there ${found.length} times: ${found.map(({ id }) => id).join(', ')}; rename the others`);
        return [];
      }
      const context = { cli, section, name, entry, wanted, account, options, fault };
      for (const text of missingReferences(context)) fault(text);
      return [stepOf(context, found[0])];
    }),
  );
  if (options.prune) steps.push(...prunable(wanted, account));
  if (faults.length > 0) throw new UsageError(`Nothing was changed.\n${faults.join('\n')}`);
  return steps;
}

function stepOf(context: EntryContext, found: { id: string; description?: string } | undefined): Step {
  const { section, name, entry, fault } = context;
  const step = { section, name, id: found?.id, values: entry.values, changes: [] as Change[] };
  if (section === 'secrets' || section === 'registryAuths') return planSecretValue(context, step, found);
  const values = markedValues(context, found);
  if (!found) return { ...step, values, action: 'create' };
  const changes = changesOf(context, values, found);
  for (const { setting, from, to } of changes) {
    if (FIXED[section]?.includes(setting)) fault(`: ${setting} is ${text(from)} and fixed; the file says ${text(to)}`);
    const isLess = section === 'networkVolumes' && setting === 'size' && Number(to) < Number(from);
    if (isLess) fault(`has ${text(from)} GB and cannot shrink to ${text(to)}`);
  }
  return { ...step, values, changes, action: changes.length > 0 ? 'update' : 'keep' };
}

function changesOf(
  { section, account }: EntryContext,
  values: Readonly<Record<string, unknown>>,
  found: object,
): Change[] {
  if (section === 'networkVolumes') {
    const { sizeGb, dataCenterId } = found as { sizeGb: number; dataCenterId: string };
    return settingChanges({ size: sizeGb, dataCenterId }, values);
  }
  const changes = differences(SETTINGS[section], values, found);
  if (section === 'templates') return [...changes, ...registryChanges(account, values, found as Template)];
  const endpoint = found as Endpoint;
  const volumes = endpoint.networkVolumeIds.map((id) => nameOf(account.networkVolumes, id));
  return [
    ...templateChanges(account, values['template'], endpoint),
    ...changes,
    ...settingChanges({ networkVolumes: volumes }, values),
  ];
}

function templateChanges(account: Account, wanted: unknown, endpoint: Endpoint): Change[] {
  const own = ownTemplateIn(endpoint);
  const named = own ? undefined : nameOf(account.templates, endpoint.templateId);
  if (!isRecord(wanted)) return wanted === named ? [] : [{ setting: 'template', from: named ?? 'its own', to: wanted }];
  const base = own ?? endpoint.template ?? {};
  const inside = [...differences(CONTAINER, wanted, base), ...registryChanges(account, wanted, base as Template)];
  const changes = inside.map((change) => ({ ...change, setting: `template.${change.setting}` }));
  return own ? changes : [{ setting: 'template', from: named, to: 'its own' }, ...changes];
}

function registryChanges(
  { registryAuths }: Account,
  values: Readonly<Record<string, unknown>>,
  { registryAuthId }: Template,
): Change[] {
  return settingChanges({ registryAuth: registryAuthId ? nameOf(registryAuths, registryAuthId) : '' }, values);
}

function settingChanges(current: Readonly<Record<string, unknown>>, values: Readonly<Record<string, unknown>>) {
  return Object.entries(current).flatMap(([setting, from]): Change[] => {
    const to = values[setting];
    return to === undefined || same(from, to) ? [] : [{ setting, from, to }];
  });
}

/** Returns the values with the mark of the owner in the variables of what is marked. */
function markedValues({ section, entry, wanted, fault }: EntryContext, found: object | undefined) {
  const { values } = entry;
  if (section !== 'templates' && section !== 'endpoints') return values;
  const { template } = values;
  const isOwn = section === 'endpoints' && isRecord(template);
  const holder = isOwn ? template : values;
  const current = isOwn ? (found as Endpoint | undefined)?.template?.env : (found as Template | undefined)?.env;
  const other = current?.[OWNER_MARK];
  if (wanted.owner !== undefined && other !== undefined && other !== wanted.owner)
    fault(`is of the owner ${other}, not ${wanted.owner}; change its ${OWNER_MARK} first if it moves`);
  const env = markedEnv(holder['env'] as Variables | undefined, current, wanted.owner);
  if (env === undefined) return values;
  return isOwn ? { ...values, template: { ...template, env } } : { ...values, env };
}

/** Returns a fault for each name that neither the files nor the account have. */
function missingReferences({ section, entry, wanted, account }: EntryContext): string[] {
  const { template, networkVolumes } = entry.values;
  const holder = isRecord(template) ? template : entry.values;
  const named: [Section, unknown][] = [
    ['registryAuths', holder['registryAuth'] || undefined],
    ...(section === 'endpoints'
      ? [
          ['templates', isRecord(template) ? undefined : template] as [Section, unknown],
          ...((networkVolumes ?? []) as string[]).map((name): [Section, unknown] => ['networkVolumes', name]),
        ]
      : []),
  ];
  return named.flatMap(([kind, name]) => {
    if (typeof name !== 'string' || wanted.entries[kind].has(name)) return [];
    const many = (account[kind] as { name: string }[]).filter((known) => known.name === name).length;
    if (many === 1) return [];
    const why = many === 0 ? 'is not there' : `is there ${many} times`;
    return [`names the ${WORDS[kind]} ${JSON.stringify(name)}, which ${why}`];
  });
}

/** Returns the name of a resource, or its id where it has none. */
export function nameOf(resources: readonly { id: string; name: string }[], id: string): string {
  return resources.find((known) => known.id === id)?.name || id;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
