/** Explains how far machines are with the models of an endpoint: as fields and as a sentence. Pure. */
import type { CachedModel } from '../machines/cached-model.ts';
import { downloadText, modelFaultChange } from '../machines/cached-model.ts';
import { referenceText } from '../machines/model-reference.ts';

/** A model of an endpoint on a machine. */
export interface EndpointModel extends CachedModel {
  machineId: string;
  machineName: string;
}

/** A model of an endpoint on all machines. */
export interface ModelExplanation {
  /** As the endpoint names it. */
  reference: string;
  /** Numbers of machines. */
  ready: number;
  downloading: number;
  failed: number;
  reason: string;
  /** The remedy. Empty if none is needed. */
  change: string;
}

/** Returns the state of each model. Names machines for the operator only. */
export function explainModels(
  references: readonly string[],
  found: readonly EndpointModel[],
  operator: boolean,
): ModelExplanation[] {
  const byReference = Map.groupBy(found, referenceText);
  return references.map((reference) => explainModel(reference, byReference.get(reference) ?? [], operator));
}

function explainModel(reference: string, found: readonly EndpointModel[], operator: boolean): ModelExplanation {
  const [ready, downloading, failed] = (['READY', 'DOWNLOADING', 'FAILED'] as const).map((state) =>
    found.filter((model) => model.state === state),
  ) as [EndpointModel[], EndpointModel[], EndpointModel[]];
  const counts = { reference, ready: ready.length, downloading: downloading.length, failed: failed.length };
  const first = failed.find(({ fault }) => fault !== '') ?? failed[0];
  const texts = [
    ...(ready.length > 0 ? [`ready on ${machinesText(ready, operator)}`] : []),
    ...downloading.slice(0, 1).map((model) => on(downloadText(model), model, operator)),
    ...(first ? [on(failedText(first), first, operator)] : []),
  ];
  const reason = texts.length > 0 ? texts.join('; ') : 'on no machine; the first worker that needs it downloads it';
  return { ...counts, reason, change: first && ready.length === 0 ? modelFaultChange(first.fault) : '' };
}

/** Returns why a model is not on a machine, as a clause. */
export function failedText({ error, ...model }: CachedModel): string {
  return `model ${referenceText(model)} cannot be downloaded${error === '' ? '' : `: ${error}`}`;
}

/** Returns the text with the machine's name, for the operator. */
export function on(text: string, { machineName }: EndpointModel, operator: boolean): string {
  return operator ? `${text} on ${machineName}` : text;
}

function machinesText(models: readonly EndpointModel[], operator: boolean): string {
  const count = models.length === 1 ? 'one machine' : `${models.length} machines`;
  if (!operator) return count;
  const names = models.slice(0, 4).map(({ machineName }) => machineName);
  return `${count} (${names.join(', ')}${models.length > names.length ? ', …' : ''})`;
}
