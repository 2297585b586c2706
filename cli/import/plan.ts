/** Decides which resources an import creates, which exist here, and which have to wait. Changes nothing. */

import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import { envOf } from './container-body.ts';
import { endpointDifferences, podDifferences, templateDifferences, volumeDifferences } from './differences.ts';
import { endpointRequest } from './endpoint-request.ts';
import { secretsIn } from './env-notes.ts';
import { secretRows } from './ignored-resources.ts';
import type { ImportContext } from './import-context.ts';
import { explainWait, WaitingError } from './import-context.ts';
import { matchHere } from './match-here.ts';
import { mountedVolumes, podRequest } from './pod-request.ts';
import type { RegistryAuthInput } from './registry-auth-inputs.ts';
import { isSameTemplate } from './same-template.ts';
import type { ImportKind, Selection } from './selection.ts';
import { isExcluded, isSelected } from './selection.ts';
import type { SourceAccount } from './source/read-source.ts';
import type { SourceRow } from './source/source-lists.ts';
import { textsOf } from './source/source-lists.ts';
import { sshKeysToAdd } from './ssh-keys.ts';
import type { TargetAccount } from './target-account.ts';
import { templateRequest } from './template-request.ts';
import { volumeRequest } from './volume-request.ts';

/** One resource of the source. */
export interface Step {
  kind: ImportKind;
  row: SourceRow;
  /** `create`, `exists` and `waits` of a plan; `created` and `failed` after it was carried out. */
  result: 'create' | 'exists' | 'waits' | 'created' | 'failed';
  /** Id here. `undefined`: not known yet. */
  here: string | undefined;
  /** Why it waits or failed, for people. */
  reason: string;
  /** Differences from the source, a line for each member. They are not changed. */
  differences: string[];
  notes: string[];
}

/** Kinds whose ids are never kept, so that a different id is no difference. */
const KINDS_WITH_NEW_IDS: ReadonlySet<ImportKind> = new Set(['registries', 'volumes', 'pods']);

/** Stands for the id of a resource that is still to be created. */
const PLANNED = 'planned';

/** Options of the user: resources to import, logins of registries, and values of secrets. */
interface ImportChoice {
  selection: Selection;
  logins: ReadonlyMap<string, RegistryAuthInput>;
  values: ReadonlyMap<string, string>;
}

/**
 * Returns the steps in the order of their creation. Adds the ids of resources that exist here, or will, to
 * `context.references`.
 */
export function planImport(source: SourceAccount, context: ImportContext, choice: ImportChoice): Step[] {
  const { target, references } = context;
  const { selection, logins } = choice;
  const needed = neededBy(source, selection);
  const chosen = (kind: ImportKind, rows: readonly SourceRow[]): SourceRow[] =>
    rows.filter(
      (row) =>
        isSelected(selection, kind, row) || (needed.has(`${kind}/${row.id}`) && !isExcluded(selection, kind, row)),
    );
  const secrets = planSecrets(chosen('secrets', secretRows(source)), context, choice);
  const registries = planKind('registries', chosen('registries', source.registries), {
    here: referTo(references.registries, source.registries, matchHere(source.registries, target.registries)),
    check: ({ name }) => {
      if (!logins.has(name))
        throw new WaitingError(`its password cannot be read: give it with --registry ${quoted(name)}=USER:FILE`);
      return [];
    },
    references: references.registries,
  });
  const isSamePlace = (row: SourceRow, known: NetworkVolume): boolean =>
    [undefined, known.dataCenterId].includes(placeOf(row, context));
  const volumes = planKind('volumes', chosen('volumes', source.volumes), {
    here: referTo(references.volumes, source.volumes, matchHere(source.volumes, target.volumes, isSamePlace)),
    check: (row) => volumeRequest(row, context).notes,
    compare: volumeDifferences,
    references: references.volumes,
  });
  // An endpoint is linked to an existing template only if that has the same settings.
  const isSame = (row: SourceRow, known: Template): boolean => isSameTemplate(row, known, context);
  const templates = planKind('templates', chosen('templates', source.templates), {
    here: referTo(references.templates, source.templates, matchHere(source.templates, target.templates), isSame),
    check: (row) => templateRequest(row, context).notes,
    compare: (row, known) => templateDifferences(row, known, context),
    references: references.templates,
  });
  const endpoints = planKind('endpoints', chosen('endpoints', source.endpoints), {
    here: matchHere(source.endpoints, target.endpoints),
    check: (row) => endpointRequest(row, context).notes,
    compare: (row, known) => endpointDifferences(row, known, context),
  });
  const pods = planKind('pods', chosen('pods', source.pods), {
    here: matchHere(source.pods, target.pods),
    check: (row) => podRequest(row, context).notes,
    compare: (row, known) => podDifferences(row, known, context),
  });
  const keys = planSshKeys(source, target, selection);
  return [...keys, ...secrets, ...registries, ...volumes, ...templates, ...endpoints, ...pods];
}

interface KindPlan<Here extends { id: string }> {
  /** Resources here, by the ids of the source. */
  here: ReadonlyMap<string, Here>;
  /** Returns notes about a resource. Throws if it cannot be created now. */
  check(row: SourceRow): string[];
  /** Returns the differences of the resource here. Absent: resources of this kind are not compared. */
  compare?(row: SourceRow, known: Here): string[];
  /** Receives the ids of resources that are still to be created. */
  references?: Map<string, string>;
}

/** Records resources that exist here, chosen or not, so that other resources can refer to them. */
function referTo<Here extends { id: string }>(
  references: Map<string, string>,
  rows: readonly SourceRow[],
  here: Map<string, Here>,
  mayRefer: (row: SourceRow, known: Here) => boolean = () => true,
): Map<string, Here> {
  for (const row of rows) {
    const known = here.get(row.id);
    if (known && mayRefer(row, known)) references.set(row.id, known.id);
  }
  return here;
}

function planKind<Here extends { id: string }>(
  kind: ImportKind,
  rows: readonly SourceRow[],
  { here, check, compare, references }: KindPlan<Here>,
): Step[] {
  return rows.map((row): Step => {
    const step = newStep(kind, row);
    const known = here.get(row.id);
    if (known) {
      const isKept = known.id === row.id || KINDS_WITH_NEW_IDS.has(kind);
      const notes = isKept ? [] : ['has another id here: it was found by its name'];
      return { ...step, result: 'exists', here: known.id, notes, differences: compare?.(row, known) ?? [] };
    }
    try {
      const notes = check(row);
      references?.set(row.id, PLANNED);
      return { ...step, notes };
    } catch (error) {
      return { ...step, result: 'waits', reason: explainWait(error) };
    }
  });
}

function planSshKeys(source: SourceAccount, target: TargetAccount, selection: Selection): Step[] {
  const row = { id: 'ssh-keys', name: `${source.sshKeys.length} SSH keys`, fields: {} };
  if (source.sshKeys.length === 0 || !isSelected(selection, 'ssh-keys')) return [];
  const isNew = sshKeysToAdd(source.sshKeys, target.sshKeys).length > 0;
  return [{ ...newStep('ssh-keys', row), result: isNew ? 'create' : 'exists' }];
}

/** Plans secrets whose values were given. A secret that is here keeps its value. */
function planSecrets(rows: readonly SourceRow[], { target }: ImportContext, { values }: ImportChoice): Step[] {
  const given = rows.filter(({ name }) => values.has(name));
  const steps = given.map((row): Step => {
    const step = newStep('secrets', row);
    if (!target.secrets.has(row.name)) return step;
    return { ...step, result: 'exists', notes: ['keeps its value here: "slipway secrets set" changes it'] };
  });
  for (const { name } of given) target.secrets.add(name);
  return steps;
}

function newStep(kind: ImportKind, row: SourceRow): Step {
  return { kind, row, result: 'create', here: undefined, reason: '', differences: [], notes: [] };
}

/** Returns what the chosen resources refer to, as `kind/id`. */
function neededBy({ endpoints, templates, pods }: SourceAccount, selection: Selection): ReadonlySet<string> {
  const needed = new Set<string>();
  const need = (row: SourceRow): void => {
    const { registry, networkVolumes } = row.fields;
    if (typeof registry === 'string') needed.add(`registries/${registry}`);
    for (const id of [...textsOf(networkVolumes), ...mountedVolumes(row)]) needed.add(`volumes/${id}`);
    for (const name of secretsIn(envOf(row))) needed.add(`secrets/${name}`);
  };
  for (const row of endpoints) if (isSelected(selection, 'endpoints', row)) need(row);
  for (const row of templates) if (isSelected(selection, 'templates', row)) need(row);
  for (const row of pods) if (isSelected(selection, 'pods', row)) need(row);
  return needed;
}

/** Returns the data centre of a volume here. `undefined`: none is named, so its name alone identifies it. */
function placeOf({ fields }: SourceRow, { mapping, target }: ImportContext): string | undefined {
  const place = fields['dataCenter'];
  if (typeof place !== 'string') return undefined;
  return mapping[place] ?? (target.locations.has(place) ? place : undefined);
}

function quoted(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : JSON.stringify(name);
}
