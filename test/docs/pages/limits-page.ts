/** docs/reference/limits.md: every limit with its value, from the constants that hold it. */
import { constant, withUnit } from './constants.ts';
import type { Limit } from './limit-row.ts';
import { LIMITS } from './limits.ts';

const HEAD = `# Limits

What a client meets first is in [the job API](api.md#limits) and in its [rates](api.md#rate-limits). This page has all limits of the service, also those inside.
\`npm run gen\` makes it from the constants.`;

/** Fills in the constants of a text. `{NAME}` is a constant of one of the limit's files. Throws if there is none. */
function filled(text: string, { limit, files }: Limit): string {
  return text.replace(/\{(\w+)\}/g, (_all, name: string) => {
    const faults: string[] = [];
    for (const file of files) {
      try {
        return withUnit(name, constant(file, name));
      } catch (fault) {
        faults.push((fault as Error).message);
      }
    }
    throw new Error(`${limit}: ${faults.join('; ')}`);
  });
}

function row(limit: Limit): string {
  const files = limit.files.map((file) => `\`${file}\``).join(', ');
  return `| ${filled(limit.limit, limit)} | ${filled(limit.value, limit)} | ${files} |`;
}

/** Returns the page. */
export function limitsPage(): string {
  const groups = Object.entries(LIMITS).map(
    ([group, limits]) => `## ${group}\n\n| Limit | Value | Where |\n|---|---|---|\n${limits.map(row).join('\n')}`,
  );
  return `${[HEAD, ...groups].join('\n\n')}\n`;
}
