/**
 * Writes proto/wire/settings.ts: defaults and bounds of the domain for the documents of the facades, which do not
 * import the domain. Run by `npm run gen`; test/tidy.test.ts checks that the file is current.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PUBLISHED } from './domain/published-settings.ts';

const HEAD =
  "/** Defaults and bounds of settings, as core's domain has them. Made by `npm run gen`; never edited. */\n";

/** Returns a value as TypeScript. */
function written(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(written).join(', ')}]`;
  if (typeof value === 'string') return `'${value}'`;
  if (value === null || typeof value !== 'object') return String(value);
  const members = Object.entries(value).map(([name, member]) => `${name}: ${written(member)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

let text = HEAD;
for (const [resource, settings] of Object.entries(PUBLISHED)) {
  const lines = Object.entries(settings).map(([field, rule]) => `  ${field}: ${written(rule)},\n`);
  text += `\nexport const ${resource.toUpperCase()}_SETTINGS = {\n${lines.join('')}} as const;\n`;
}
writeFileSync(join(import.meta.dirname, '../proto/wire/settings.ts'), text);
