/** Code samples that call an endpoint. */

import { parseExact } from '@slipway/kit/bytes/exact-json';
import { isRounded, javascriptLiteral, pythonLiteral } from '../lib/literals.ts';
import { Loading } from '../ui/parts.tsx';
import { Samples } from '../ui/samples.tsx';
import { lbCode } from './load-balancing/lb-code.ts';
import { useExample } from './use-example.ts';

/** Shows the samples. They never contain the key: they read it from the environment. */
export function Code({ id, type }: { id: string; type: string }) {
  const { origin } = window.location;
  const example = useExample(id);
  if (!example) return <Loading />;
  const { input } = example;
  const samples = type === 'LB' ? lbCode(origin, id, input) : queued(origin, id, parseExact(input));
  return <Samples samples={samples} />;
}

const ROUNDED = '// JavaScript rounds numbers of more than 15 digits; Python and curl send them as they are.\n';

function queued(origin: string, id: string, input: unknown): [string, string][] {
  return [
    [
      'Python',
      `import os
import runpod

runpod.api_key = os.environ["SLIPWAY_API_KEY"]
runpod.endpoint_url_base = "${origin}/v2"

endpoint = runpod.Endpoint("${id}")
print(endpoint.run_sync(${pythonLiteral(input)}, timeout=60))`,
    ],
    [
      'JavaScript',
      `import runpodSdk from 'runpod-sdk';

const runpod = runpodSdk(process.env.SLIPWAY_API_KEY, { baseUrl: '${origin}/v2' });
const endpoint = runpod.endpoint('${id}');
${isRounded(input) ? ROUNDED : ''}console.log(await endpoint.runSync({ input: ${javascriptLiteral(input)} }));`,
    ],
    [
      'curl',
      `curl -sS ${origin}/v2/${id}/runsync \\
  -H "Authorization: Bearer $SLIPWAY_API_KEY" -H "Content-Type: application/json" \\
  -d '${JSON.stringify({ input }).replaceAll("'", "'\\''")}'`,
    ],
  ];
}
