/** Code samples that send a request to a load-balancing endpoint: the last one typed in this tab, or an example. */

import { hasBody, headersOf, keptRequest, pathOf, requestOf } from './lb-request.ts';

/** Returns titles and samples. They never contain the key. `example`: JSON text of a request. */
export function lbCode(origin: string, id: string, example: string): [title: string, text: string][] {
  const request = keptRequest(id) ?? requestOf(example);
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

/** Returns a Python string literal: a JSON string is one. */
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
  // With -X HEAD curl would wait for a body that never comes.
  const how = method === 'HEAD' ? '--head' : `-X ${method}`;
  const all = headers.map(([name, value]) => ` \\\n  -H ${quoted(`${name}: ${value}`)}`).join('');
  // Without --globoff curl expands brackets in URLs.
  return `curl -sS --globoff ${how} ${quoted(url)} \\
  -H "Authorization: Bearer $SLIPWAY_API_KEY"${all}${body === undefined ? '' : ` \\\n  --data-raw ${quoted(body)}`}`;
}

function text(value: string): string {
  return JSON.stringify(value);
}

/** Returns a single-quoted shell string, in which nothing is expanded. */
function quoted(value: string): string {
  return `'${value.replaceAll("'", "'\\''")}'`;
}
