/** Finds the Kubernetes API and its credentials: the service account of the agent's own Pod, or a kubeconfig file. */
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** Address and credentials of an API server. */
export interface ApiAccess {
  /** For instance `https://10.96.0.1:443`. */
  server: string;
  /** PEM of the authority of its certificate; `undefined`: the authorities that Node trusts. */
  ca: string | undefined;
  /** Returns the bearer token; `undefined` if there is none. Called for each request, because Kubernetes renews it. */
  token(): Promise<string | undefined>;
  /** PEM of a client certificate and its key. */
  cert?: string | undefined;
  key?: string | undefined;
  /** Namespace that the credentials name; empty if they name none. */
  namespace: string;
}

/** The API cannot be reached with these settings. The message gives the operator the reason. */
export class ApiAccessError extends Error {}

/** Address of the API as Pods find it in their environment. Empty outside of Pods. */
interface ApiService {
  host: string;
  port: string;
}

const NO_SERVICE: ApiService = { host: '', port: '' };
const ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

interface Entry {
  name: string;
  cluster?: Record<string, string>;
  user?: Record<string, unknown>;
  context?: Record<string, string>;
}

interface Kubeconfig {
  'current-context'?: string;
  clusters?: Entry[];
  users?: Entry[];
  contexts?: Entry[];
}

/**
 * Reads the access. `kubeconfig`: path of a file; empty for the service account of the agent's Pod, where `service` is
 * the address of the API: host and port.
 */
export async function readApiAccess(kubeconfig: string, service: ApiService = NO_SERVICE): Promise<ApiAccess> {
  try {
    return kubeconfig === '' ? await serviceAccount(service) : await fromKubeconfig(kubeconfig);
  } catch (error) {
    if (error instanceof ApiAccessError) throw error;
    throw new ApiAccessError(`the access to the Kubernetes API cannot be read: ${(error as Error).message}`);
  }
}

async function serviceAccount({ host, port }: ApiService): Promise<ApiAccess> {
  if (host === '' || port === '')
    throw new ApiAccessError('the agent does not run in a Pod: name a kubeconfig by SLIPWAY_KUBERNETES_CONFIG');
  const text = (name: string): Promise<string> => readFile(`${ACCOUNT_FOLDER}/${name}`, 'utf8');
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    ca: await text('ca.crt'),
    token: async () => (await text('token')).trim(),
    namespace: (await text('namespace')).trim(),
  };
}

async function fromKubeconfig(path: string): Promise<ApiAccess> {
  const { parse } = await import('yaml');
  const config = parse(await readFile(path, 'utf8')) as Kubeconfig;
  const name = config['current-context'] ?? '';
  const context = config.contexts?.find((entry) => entry.name === name)?.context;
  const cluster = config.clusters?.find((entry) => entry.name === context?.['cluster'])?.cluster;
  const user = config.users?.find((entry) => entry.name === context?.['user'])?.user ?? {};
  if (!context || !cluster?.['server'])
    throw new ApiAccessError(`${path} has no current context with a cluster and its server`);
  if (user['exec'] || user['auth-provider'])
    throw new ApiAccessError(`${path} runs a program to log in, which the agent does not: use a token or certificate`);
  const pem = async (values: Record<string, unknown>, field: string): Promise<string | undefined> => {
    const [data, file] = [values[`${field}-data`], values[field]];
    if (typeof data === 'string') return Buffer.from(data, 'base64').toString();
    return typeof file === 'string' ? readFile(resolve(dirname(path), file), 'utf8') : undefined;
  };
  const { token, tokenFile } = user as { token?: string; tokenFile?: string };
  return {
    server: cluster['server'].replace(/\/$/, ''),
    ca: await pem(cluster, 'certificate-authority'),
    token: async () =>
      tokenFile === undefined ? token : (await readFile(resolve(dirname(path), tokenFile), 'utf8')).trim(),
    cert: await pem(user, 'client-certificate'),
    key: await pem(user, 'client-key'),
    namespace: context['namespace'] ?? '',
  };
}
