/** What the named test files need besides npm's packages, so that one of them runs without making what it does not use. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import { moduleFiles } from './handler-files.ts';

/** Everything that can be made or started for tests. */
export const TEST_TOOLS = ['python-new', 'python-old', 'schemathesis', 'envoy', 'grpcurl', 'postgres'] as const;
export type TestTool = (typeof TEST_TOOLS)[number];

/** How a test, or a helper that it imports, shows that it uses a thing. One that is seen in vain costs time only. */
const SIGNS: Record<TestTool, RegExp> = {
  'python-new': /\b(?:skipWithoutPython|pythonHandler|PYTHONS)\b/,
  'python-old': /\b(?:skipWithoutPython|pythonHandler|PYTHONS)\b/,
  schemathesis: /\bschemathesis\b/i,
  envoy: /\b(?:skipWithoutEnvoy|startEdge)\b/,
  grpcurl: /\bgrpcurl\b/i,
  postgres: /\bcreateDatabase\b/,
};
/** Where the words above are defined, which says nothing about use. */
const DEFINED_IN = join('test', 'helpers', 'handlers.ts');

/** The test files among the arguments of a run; undefined when the run is not of single files. */
export function namedFiles(root: string, args: readonly string[]): string[] | undefined {
  const names = args.filter((argument) => !argument.startsWith('-'));
  const single = names.length > 0 && names.every((name) => name.endsWith('.test.ts') && existsSync(resolve(root, name)));
  return single ? names.map((name) => resolve(root, name)) : undefined;
}

/** All tools, unless single files are named that need fewer. */
export function toolsFor(root: string, args: readonly string[]): Set<TestTool> {
  const files = namedFiles(root, args);
  if (!files) return new Set(TEST_TOOLS);
  const folder = join(root, 'test');
  const used = new Set(files.flatMap((file) => moduleFiles(file, folder)).filter((file) => !file.endsWith(sep + DEFINED_IN)));
  // Comments explain words and use none.
  const texts = [...used].map((file) => readFileSync(file, 'utf8').replace(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, ''));
  return new Set(TEST_TOOLS.filter((tool) => texts.some((text) => SIGNS[tool].test(text))));
}
