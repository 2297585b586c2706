/**
 * Settings of endpoints about models: cached models for workers (docs/guides/cached-models.md), and
 * those for the OpenAI address of the account (docs/reference/api.md#one-openai-address).
 */
import type { Field } from '../field.ts';

/** Form of an alias, as core checks it. */
export const MODEL_ALIAS = '^[A-Za-z0-9][A-Za-z0-9._\\-/:@+]{0,190}$';
/** Most aliases of an endpoint, as core checks it. */
export const MODEL_ALIASES_MAX = 20;
const ALIASES =
  'Names by which OpenAI clients select it at /openai/v1, at most 20. Endpoints with a name in common share ' +
  'its requests.';
const WEIGHT =
  'Share of the requests for a name that several endpoints have, relative to theirs. 0: only while no other can ' +
  'take them';
const QUEUE_MAX =
  'Jobs or requests that may wait before requests for a name that several endpoints have go to the others. ' +
  '0: any number';

/** Form of a reference. Core says what is wrong in detail. */
export const MODEL_REFERENCE = '^\\S+/\\S+$';
const REFERENCES =
  'Hugging Face models that its workers find on their machine, at most 10: org/name, org/name:revision, or an ' +
  'address of https://huggingface.co.';

/** As in the table of endpoints. */
export const MODEL_FIELDS = {
  modelReferences: {
    kind: { is: 'texts', asList: true, pattern: MODEL_REFERENCE },
    rest: { name: 'modelReferences', in: `${REFERENCES} An extension.`, out: `${REFERENCES} An extension.` },
    graphql: { name: 'modelReferences', in: REFERENCES, out: REFERENCES, must: true },
    cli: {
      option: '--model <org/name>',
      about:
        'Hugging Face model that its workers find on their machine, org/name or org/name:revision; may be given more ' +
        'than once; "" for none',
      row: 'cached models',
    },
  },
  modelAliases: {
    kind: { is: 'texts', asList: true, pattern: MODEL_ALIAS },
    rest: { name: 'modelAliases', in: `${ALIASES} An extension.`, out: `${ALIASES} An extension.` },
    graphql: {
      name: 'modelAliases',
      in: `${ALIASES} An extension.`,
      out: `${ALIASES} An extension.`,
      must: true,
    },
    cli: {
      option: '--model-alias <name>',
      about: 'name by which OpenAI clients select it at /openai/v1; may be given more than once; "" for none',
      row: 'models',
    },
  },
  modelWeight: {
    kind: { is: 'whole' },
    rest: { name: 'modelWeight', in: `${WEIGHT}. Default {default}. An extension.`, out: `${WEIGHT}. An extension.` },
    graphql: {
      name: 'modelWeight',
      in: `${WEIGHT}; {min} to {max}. Default {default}. An extension.`,
      out: `${WEIGHT}. An extension.`,
    },
    cli: {
      option: '--model-weight <number>',
      about: 'share of the requests for an alias that several endpoints have; 0: only as a fallback; default {default}',
    },
  },
  modelQueueMax: {
    kind: { is: 'whole' },
    rest: {
      name: 'modelQueueMax',
      in: `${QUEUE_MAX}. Default {default}. An extension.`,
      out: `${QUEUE_MAX}. An extension.`,
    },
    graphql: {
      name: 'modelQueueMax',
      in: `${QUEUE_MAX}; {min} to {max}. Default {default}. An extension.`,
      out: `${QUEUE_MAX}. An extension.`,
    },
    cli: {
      option: '--model-queue-max <number>',
      about: 'how many may wait before requests for a shared alias go to other endpoints; 0: any number (default)',
    },
  },
} as const satisfies Record<string, Field>;
