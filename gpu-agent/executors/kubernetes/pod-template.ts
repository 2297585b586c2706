/** Fields that an operator sets for all Pods of workers and pods. Pure. */

/** The fields, as in a Pod. */
export interface PodTemplate {
  /** Scheduler, for instance `kai-scheduler`. */
  schedulerName?: string;
  priorityClassName?: string;
  runtimeClassName?: string;
  serviceAccountName?: string;
  nodeSelector?: Record<string, string>;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  tolerations?: object[];
}

type Kind = 'text' | 'texts' | 'objects';

const FIELDS: Readonly<Record<keyof PodTemplate, Kind>> = {
  schedulerName: 'text',
  priorityClassName: 'text',
  runtimeClassName: 'text',
  serviceAccountName: 'text',
  nodeSelector: 'texts',
  labels: 'texts',
  annotations: 'texts',
  tolerations: 'objects',
};

/** Labels and annotations that the agent itself sets. */
const OWN = /^slipway\./;

/** Parses the fields. Returns what is wrong with the text, as the rest of a sentence. */
export function parsePodTemplate(text: string): PodTemplate | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `must be JSON: ${(error as Error).message}`;
  }
  if (!isObject(value)) return 'must be a JSON object';
  for (const [name, field] of Object.entries(value)) {
    const kind = Object.hasOwn(FIELDS, name) ? FIELDS[name as keyof PodTemplate] : undefined;
    if (kind === undefined) return `has ${JSON.stringify(name)}, but may only have ${Object.keys(FIELDS).join(', ')}`;
    if (!isOf(kind, field)) return `has ${name}, which must be ${WORDS[kind]}`;
  }
  const { labels, annotations } = value as PodTemplate;
  const own = Object.keys({ ...labels, ...annotations }).find((name) => OWN.test(name));
  return own === undefined ? (value as PodTemplate) : `sets ${own}, which the agent itself sets`;
}

const WORDS: Readonly<Record<Kind, string>> = {
  text: 'a text',
  texts: 'an object of texts',
  objects: 'a list of objects',
};

function isOf(kind: Kind, value: unknown): boolean {
  if (kind === 'text') return typeof value === 'string' && value !== '';
  if (kind === 'texts') return isObject(value) && Object.values(value).every((each) => typeof each === 'string');
  return Array.isArray(value) && value.every(isObject);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
