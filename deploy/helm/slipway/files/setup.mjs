/**
 * Makes what is missing after an installation, and keeps it in Secrets: an account, its key and an endpoint to try, in
 * the namespace of core; a join token, in that of the agents. `node setup.mjs` makes all of it and a new token; with
 * `token` only the token. May run again at any time.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const { env } = process;
const ACCOUNT_FOLDER = env.SETUP_ACCOUNT_FOLDER || '/var/run/secrets/kubernetes.io/serviceaccount';
const API = env.SETUP_API || 'https://kubernetes.default.svc';
const RETRY_MS = 2_000;
const TRIES = 300;
/** Exit code of `slipway` where core does not answer. */
const UNREACHABLE = 3;
const folder = mkdtempSync(join(tmpdir(), 'setup-'));

/** Runs a command of `slipway`. Returns its output. */
function slipway(...args) {
  return execFileSync('slipway', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}

const json = (...args) => JSON.parse(slipway('--json', ...args));

/** Sends a request to the API of Kubernetes. Returns the object; `undefined` if there is none. */
async function kubernetes(method, path, body) {
  const token = readFileSync(join(ACCOUNT_FOLDER, 'token'), 'utf8').trim();
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const answer = await fetch(`${API}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': type },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (answer.status === 404) return undefined;
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

/** Values of a Secret. Missing ones are made, each written at once: what was made is never made twice. */
class Values {
  constructor(namespace, name) {
    this.path = `/api/v1/namespaces/${namespace}/secrets`;
    this.name = name;
  }

  async load() {
    const found = await kubernetes('GET', `${this.path}/${this.name}`);
    const metadata = { name: this.name, labels: { 'app.kubernetes.io/part-of': 'slipway' } };
    if (!found) await kubernetes('POST', this.path, { metadata });
    this.data = found?.data ?? {};
    return this;
  }

  async set(key, value) {
    this.data[key] = Buffer.from(value).toString('base64');
    await kubernetes('PATCH', `${this.path}/${this.name}`, { data: { [key]: this.data[key] } });
  }

  async once(key, make) {
    if (this.data[key] === undefined) await this.set(key, await make());
    return Buffer.from(this.data[key], 'base64').toString();
  }
}

/** Repeats a command until core answers it. */
async function whenCoreAnswers(make) {
  for (let tries = 1; ; tries += 1) {
    try {
      return make();
    } catch (error) {
      if (error.status !== UNREACHABLE || tries === TRIES) throw error;
      process.stdout.write(`core does not answer yet: ${error.stderr.trim()}\n`);
      await delay(RETRY_MS);
    }
  }
}

function newKey(account) {
  const file = join(folder, 'key');
  slipway('keys', 'create', 'first', '--account', account, '--save', file);
  return readFileSync(file, 'utf8').trim();
}

async function setUp() {
  const first = await new Values(env.SETUP_NAMESPACE, `${env.SETUP_NAME}-first`).load();
  const account = await first.once('account', () =>
    whenCoreAnswers(() => slipway('accounts', 'create', env.SETUP_ACCOUNT)),
  );
  env.SLIPWAY_API_KEY = await first.once('api-key', () => newKey(account));
  if (!env.SETUP_EXAMPLE) return;
  const template = await first.once('template', () => {
    const image = ['--image', env.SETUP_EXAMPLE, '--entrypoint', 'node', '--disk', '5'];
    return json('templates', 'create', 'hello', ...image, '--', '/opt/slipway/hello.mjs').id;
  });
  await first.once('endpoint', () => json('endpoints', 'create', '--template', template, '--compute', 'cpu').id);
}

async function renewToken() {
  const joining = await new Values(env.SETUP_AGENT_NAMESPACE, `${env.SETUP_NAME}-join`).load();
  const locations = (env.SETUP_LOCATIONS ?? '').split(',').map((each) => each.trim());
  const where = [
    ...locations.filter((each) => each !== '').flatMap((each) => ['--location', each]),
    ...(env.SETUP_POOL ? ['--pool', env.SETUP_POOL] : []),
  ];
  const made = await whenCoreAnswers(() =>
    json('machines', 'token', '--uses', env.SETUP_TOKEN_USES, '--ttl', '7d', ...where),
  );
  await joining.set('join-token', made.token);
}

try {
  if (process.argv[2] !== 'token') await setUp();
  if (env.SETUP_AGENT_NAMESPACE) await renewToken();
  process.stdout.write('everything is there\n');
} catch (error) {
  // The text of the command says what to do.
  process.stderr.write(`${error.stderr || error.stack}\n`);
  process.exitCode = 1;
}
