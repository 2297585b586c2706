/**
 * Compares a resource of the source with the existing one here, as bodies of REST v2. The existing resource is never
 * changed: it may have been set here on purpose.
 */

import { presentPod } from '@slipway/facades/rest-v2/pods/pod-values';
import { presentEndpoint } from '@slipway/facades/rest-v2/serverless/present-endpoint';
import { presentTemplate } from '@slipway/facades/rest-v2/templates/template-values';
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import { pick } from './container-body.ts';
import { endpointBody, modelsOf } from './endpoint-request.ts';
import type { ImportContext } from './import-context.ts';
import { explainWait } from './import-context.ts';
import { podBody } from './pod-request.ts';
import { EXTENSIONS } from './source/endpoint-origins.ts';
import type { SourceRow } from './source/source-lists.ts';
import { recordOf, textsOf } from './source/source-lists.ts';
import { templateBody } from './template-request.ts';

const VALUE_LENGTH_SHOWN = 60;
/** Not compared: the command is compared word by word instead. */
const SAID_TWICE: readonly string[] = ['args'];

type Members = Readonly<Record<string, unknown>>;

/** Returns the differences of an endpoint, a line for each member. */
export function endpointDifferences(row: SourceRow, known: Endpoint, context: ImportContext): string[] {
  return compared(() => {
    const there = endpointBody(row, context, []);
    const extras = context.extras?.get(row.id);
    const here = presentEndpoint(known, '', context.target.pools) as Members;
    const settings = Object.fromEntries(EXTENSIONS.map((name) => [name, known[name]]));
    const models = (extras?.modelReferences ?? modelsOf(row)).map((name) => name.replace(/[:@]main$/, ''));
    // Of a data centre that has no name here, nothing is known.
    const isElsewhere = textsOf(there['dataCenterIds']).length < textsOf(row.fields['dataCenterIds']).length;
    if (isElsewhere) delete there['dataCenterIds'];
    return differences({ ...there, models, ...extras?.settings }, { ...here, ...settings });
  });
}

/** Returns the differences of a template. */
export function templateDifferences(row: SourceRow, known: Template, context: ImportContext): string[] {
  return compared(() =>
    differences(templateBody(row, context), { ...presentTemplate(known), exampleInput: known.exampleInput }),
  );
}

/** Returns the differences of a network volume. Its data centre is equal, as it was found by that. */
export function volumeDifferences({ fields }: SourceRow, { sizeGb }: NetworkVolume): string[] {
  return differences({ size: fields['size'] }, { size: sizeGb });
}

/** Returns the differences of a pod. */
export function podDifferences(row: SourceRow, known: Pod, context: ImportContext): string[] {
  return compared(() => differences(podBody(row, context), presentPod(known, 0) as Members));
}

function compared(compare: () => string[]): string[] {
  try {
    return compare();
  } catch (error) {
    return [`cannot be compared: ${explainWait(error)}`];
  }
}

/** Returns a line for each member of `there` whose value in `here` differs. */
function differences(there: Members, here: Members, prefix = ''): string[] {
  return Object.entries(there).flatMap(([name, value]) => {
    if (value === undefined || SAID_TWICE.includes(name)) return [];
    const path = prefix + name;
    const [inner, known] = [recordOf(value), recordOf(here[name])];
    if (path === 'env') return variableDifferences(inner ?? {}, known ?? {});
    if (inner && known) return differences(inner, known, `${path}.`);
    const [a, b] = [textOf(value), textOf(alike(value, here[name]))];
    return a === b ? [] : [`${path} is ${b} here, ${a} at the source`];
  });
}

/** Returns a list whose entries have only members that the source's entries have. */
function alike(there: unknown, here: unknown): unknown {
  if (!Array.isArray(there) || !Array.isArray(here)) return here;
  return here.map((entry: unknown, at) => {
    const [inner, known] = [recordOf(there[at]), recordOf(entry)];
    return inner && known ? pick(known, Object.keys(inner)) : entry;
  });
}

/** Returns the differences of variables by name. Values are never shown, because they may be secret. */
function variableDifferences(there: Members, here: Members): string[] {
  const names = [...new Set([...Object.keys(there), ...Object.keys(here)])].toSorted();
  return names.flatMap((name) => {
    if (!Object.hasOwn(here, name)) return [`the variable ${name} is at the source only`];
    if (!Object.hasOwn(there, name)) return [`the variable ${name} is here only`];
    return there[name] === here[name] ? [] : [`the variable ${name} has another value here`];
  });
}

function textOf(value: unknown): string {
  const sorted = Array.isArray(value) && value.every((one) => typeof one === 'string') ? value.toSorted() : value;
  const text = JSON.stringify(sorted ?? null);
  return text.length > VALUE_LENGTH_SHOWN ? `${text.slice(0, VALUE_LENGTH_SHOWN)}…` : text;
}
