/**
 * First run of `deploy/compose.yaml`. `secrets` makes the secrets in /run/slipway; `setup` makes an account, keys and
 * an endpoint, and prints how to call it. Both only make what is missing, so they may run again at any time.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const FOLDER = '/run/slipway';
/** User of core. The folder is the user's, too: `setup` writes keys. */
const USER = 65532;
const RETRY_MS = 1_000;
const TRIES = 180;
const { env } = process;

const path = (name) => `${FOLDER}/${name}`;
const read = (name) => readFileSync(path(name), 'utf8').trim();

/** Makes a file unless it exists. Returns its content. */
function once(name, make) {
  if (!existsSync(path(name))) writeFileSync(path(name), make(), { mode: 0o400 });
  return read(name);
}

function makeSecrets() {
  const hex = (bytes) => randomBytes(bytes).toString('hex');
  once('secret-key', () => hex(32));
  once('root-key', () => `root_${hex(24)}`);
  const password = once('database-password', () => hex(24));
  once('database-url', () => `postgres://slipway:${password}@127.0.0.1:${env.SLIPWAY_DATABASE_PORT}/slipway`);
  for (const name of ['secret-key', 'root-key', 'database-password', 'database-url', '.'])
    chownSync(path(name), USER, USER);
}

/** Runs a command of `slipway`. Returns what it printed, or the id in its JSON document. */
function slipway(...args) {
  return execFileSync('slipway', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env: keys() }).trim();
}

function keys() {
  const user = existsSync(path('api-key')) ? { SLIPWAY_API_KEY_FILE: path('api-key') } : {};
  return { ...env, SLIPWAY_ROOT_KEY_FILE: path('root-key'), ...user };
}

const idOf = (document) => JSON.parse(document).id;

async function setUp() {
  for (let tries = 1; ; tries += 1) {
    try {
      once('account', () => slipway('accounts', 'create', 'main'));
      break;
    } catch (error) {
      if (tries === TRIES) throw error;
      await delay(RETRY_MS);
    }
  }
  if (!existsSync(path('api-key')))
    slipway('keys', 'create', 'first', '--account', read('account'), '--save', path('api-key'));
  if (!existsSync(path('agent-key')))
    slipway('keys', 'create', 'agent', '--scope', 'agent', '--save', path('agent-key'));
  const handler = '/opt/slipway/hello.mjs';
  const template = ['--image', env.SLIPWAY_WORKER_IMAGE, '--entrypoint', 'node', '--disk', '5'];
  once('template', () => idOf(slipway('--json', 'templates', 'create', 'hello', ...template, '--', handler)));
  const endpoint = once('endpoint', () =>
    idOf(slipway('--json', 'endpoints', 'create', '--template', read('template'), '--compute', 'cpu')),
  );
  const headers = `-H 'Authorization: Bearer ${read('api-key')}' -H 'Content-Type: application/json'`;
  const url = `http://127.0.0.1:${env.SLIPWAY_PORT}`;
  process.stdout.write(`Slipway serves at ${url}. Try it:

  curl -s ${url}/v2/${endpoint}/runsync ${headers} -d '{"input":{"name":"Ada"}}'
`);
}

if (process.argv[2] === 'secrets') makeSecrets();
else await setUp();
