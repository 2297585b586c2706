/**
 * Code that sends a request to a load-balancing endpoint: the one that was tried last in this tab, or one of the kind
 * that such endpoints take.
 */

import type { LbRequest } from './lb-request.ts';
import { hasBody, headersOf, keptRequest, pathOf } from './lb-request.ts';

const USUAL: LbRequest = {
  method: 'POST',
  path: '/predict',
  headers: '',
  kind: 'json',
  body: '{"prompt": "a lighthouse at dusk"}',
};

/** Titles and texts. The key is never in them. */
export function lbCode(origin: string, id: string): [title: string, text: string][] {
  const { isFirst, ...kept } = keptRequest(id);
  const request = isFirst ? USUAL : kept;
  const url = `${origin}/v2/${id}${pathOf(request)}`;
  const body = hasBody(request) ? request.body : undefined;
  const parts = { method: request.method, url, headers: headersOf(request), body };
  return [
    ['Python', python(parts)],
    ['JavaScript', javascript(parts)],
    ['curl', curl(parts)],
  ];
}

interface Parts {
  method: string;
  url: string;
  headers: readonly (readonly [string, string])[];
  body: string | undefined;
}

/** A text of JSON is one of Python too. */
function python({ method, url, headers, body }: Parts): string {
  const all = [
    '"Authorization": "Bearer " + os.environ["SLIPWAY_API_KEY"]',
    ...headers.map(([name, value]) => `${text(name)}: ${text(value)}`),
  ];
  const sent = body === undefined ? '' : `,\n    data=${text(body)}.encode(),`;
  return `import os
import requests

answer = requests.request(
    ${text(method)}, ${text(url)},
    headers={${all.join(', ')}}${sent}
)
print(answer.status_code, answer.text)`;
}

function javascript({ method, url, headers, body }: Parts): string {
  const all = [
    'Authorization: `Bearer ${process.env.SLIPWAY_API_KEY}`',
    ...headers.map(([name, value]) => `${text(name)}: ${text(value)}`),
  ];
  return `const answer = await fetch(${text(url)}, {
  method: ${text(method)},
  headers: { ${all.join(', ')} },${body === undefined ? '' : `\n  body: ${text(body)},`}
});
console.log(answer.status, await answer.text());`;
}

function curl({ method, url, headers, body }: Parts): string {
  // It would wait for the body that a HEAD has not.
  const how = method === 'HEAD' ? '--head' : `-X ${method}`;
  const all = headers.map(([name, value]) => ` \\\n  -H ${quoted(`${name}: ${value}`)}`).join('');
  // Without --globoff it takes brackets for patterns of its own.
  return `curl -sS --globoff ${how} ${quoted(url)} \\
  -H "Authorization: Bearer $SLIPWAY_API_KEY"${all}${body === undefined ? '' : ` \\\n  --data-raw ${quoted(body)}`}`;
}

function text(value: string): string {
  return JSON.stringify(value);
}

/** For a shell, which looks into no such text. */
function quoted(value: string): string {
  return `'${value.replaceAll("'", "'\\''")}'`;
}
