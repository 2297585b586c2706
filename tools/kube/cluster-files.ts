/** Files of a cluster: tokens of its programs and of its administrator, the key of service accounts, kubeconfigs. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Users of the cluster and their groups. */
const USERS = {
  admin: 'system:masters',
  'system:kube-controller-manager': '',
  'system:kube-scheduler': '',
  kwok: 'system:masters',
  'system:node:real-0': 'system:nodes',
} as const;
type User = keyof typeof USERS;

export interface ClusterFiles {
  /** Returns the path of a file in the cluster's folder. */
  path(name: string): string;
  /** Bearer token of a user. */
  tokens: Record<User, string>;
}

/** Writes what the API server reads at its start. `folder` must be empty. */
export function writeClusterFiles(folder: string): ClusterFiles {
  const path = (name: string): string => join(folder, name);
  const secret = { mode: 0o600 };
  mkdirSync(path('tls'), { mode: 0o700 });
  const names = Object.keys(USERS) as User[];
  const tokens = Object.fromEntries(
    names.map((name) => [name, randomBytes(16).toString('hex')]),
  ) as ClusterFiles['tokens'];
  writeFileSync(
    path('tokens.csv'),
    names.map((name) => `${tokens[name]},${name},${name},"${USERS[name]}"\n`).join(''),
    secret,
  );
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  writeFileSync(path('accounts.key'), privateKey, secret);
  writeFileSync(path('accounts.pub'), publicKey);
  return { path, tokens };
}

/** Writes the kubeconfig of a user. Returns its path. `caFile`: the authority of the API server, in PEM. */
export function writeKubeconfig(files: ClusterFiles, user: User, url: string, caFile: string): string {
  const name = 'slipway';
  const ca = readFileSync(caFile).toString('base64');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: url, 'certificate-authority-data': ca } }],
    users: [{ name, user: { token: files.tokens[user] } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  };
  const file = files.path(user === 'admin' ? 'kubeconfig' : `${user.replace('system:', '')}.kubeconfig`);
  writeFileSync(file, JSON.stringify(config, undefined, 2), { mode: 0o600 });
  return file;
}
