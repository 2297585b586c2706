/** docs/reference/errors.md: every error code with its cause and what to do. */

import type { ErrorHelp } from '@slipway/kit/net/error-help';
import { ERROR_HELP } from '@slipway/kit/net/error-help';

const HEAD = `# Error codes

Every error of the job API and of load balancing has a \`code\`: [the shape](api.md#errors). REST, REST v2 and OpenAI routes have the same codes in
[their own shapes](management.md#errors-of-rest). The \`Link\` header of an error's answer, \`rel="help"\`, leads to the code on \`/docs/errors\`,
the page that the service itself has of them. Answers of load balancing and of the edge link to its other address,
\`/.well-known/slipway/errors\`, which workers' hosts serve too. GraphQL errors have the address in \`extensions.help\`.`;

function entry([code, { http, cause, fix }]: [string, ErrorHelp]): string {
  return `### ${code}\n\nHTTP ${http.join(', ')}\n\n- **Cause:** ${cause}\n- **Fix:** ${fix}`;
}

/** Returns the page. */
export function errorsPage(): string {
  const groups = Object.entries(ERROR_HELP).map(
    ([group, codes]) => `## ${group}\n\n${Object.entries(codes).map(entry).join('\n\n')}`,
  );
  return `${[HEAD, ...groups].join('\n\n')}\n`;
}
