/** The list of error codes as a page of the service. The `Link` header of every error response refers to it. */
import { ERROR_HELP } from '@slipway/kit/net/error-help';

/** Returns HTML of a text: code between backticks, and links to other pages as plain words. */
function html(text: string): string {
  const safe = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return safe.replace(/\[([^\]]+)\]\([^)]*\)/g, '$1').replace(/`([^`]+)`/g, '<code>$1</code>');
}

/** Returns all codes by group, each with its id as the fragment to link to. */
export function errorsList(): string {
  return Object.entries(ERROR_HELP)
    .map(
      ([group, codes]) => `<h2>${group}</h2>
${Object.entries(codes)
  .map(
    ([code, { http, cause, fix }]) => `<h3 id="${code}"><code>${code}</code></h3>
<p>HTTP ${http.join(', ')}. ${html(cause)}</p>
<p>${html(fix)}</p>`,
  )
  .join('\n')}`,
    )
    .join('\n');
}
