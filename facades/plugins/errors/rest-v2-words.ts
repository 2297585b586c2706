/** Words of REST v2 that are at the position under /v2 where the job API has endpoint ids. */

/** First segments that are never an endpoint's id, whether anything is served below them or not. */
export const REST_V2_WORDS: readonly string[] = [
  'account',
  'billing',
  'builds',
  'catalog',
  'clusters',
  'docs',
  'endpoints',
  'flash',
  'global-volumes',
  'network-volumes',
  'openapi.json',
  'organization',
  'pods',
  'registries',
  'sandboxes',
  'secrets',
  'serverless',
  'signup',
  'tags',
  'templates',
];

const WORDS: ReadonlySet<string> = new Set(REST_V2_WORDS);
const PATH = /^\/+v2\/+([^/?#]+)/;

/** Returns whether a path segment is a word of REST v2, and so no endpoint id. */
export function isRestV2Word(segment: string): boolean {
  return WORDS.has(segment);
}

/** Returns whether a path belongs to REST v2. */
export function isRestV2Path(path: string): boolean {
  const word = PATH.exec(path)?.[1];
  return word !== undefined && WORDS.has(word);
}
