/** An image with OpenSSH's server that starts as images of GPU clouds do: with the keys in PUBLIC_KEY. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestEngine } from '../system/test-engine.ts';
import { makeBaseTar } from './podman-images.ts';

const SERVER = '/usr/sbin/sshd';
const CLIENT = '/usr/bin/ssh';
const KEYGEN = '/usr/bin/ssh-keygen';

/** The reason why this machine cannot test logins, in one line; else false. Passed as `skip` it skips a test. */
export const sshSkip = [SERVER, CLIENT, KEYGEN].every((path) => existsSync(path))
  ? false
  : 'needs openssh-server openssh-client';

/** Where the server keeps its key: a volume mounted there keeps it over restarts. */
export const VOLUME = '/workspace';

const START = `umask 077
mkdir -p /root/.ssh /run/sshd ${VOLUME}
echo "$PUBLIC_KEY" > /root/.ssh/authorized_keys
[ -f ${VOLUME}/key ] || ${KEYGEN} -q -t ed25519 -N '' -f ${VOLUME}/key
exec ${SERVER} -D -e -f /dev/null -h ${VOLUME}/key -o UsePAM=no -o AuthenticationMethods=publickey
`;
const FILES = {
  'etc/passwd': 'root:x:0:0:root:/root:/bin/sh\nsshd:x:101:65534::/run/sshd:/bin/false\n',
  'etc/group': 'root:x:0:\ntty:x:5:\nnogroup:x:65534:\n',
  'start.sh': START,
};

/** Makes the image from the files of this host. */
export async function makeSshImage(engine: TestEngine, name: string): Promise<void> {
  const root = join(engine.folder, 'ssh-root');
  mkdirSync(join(root, 'etc'), { recursive: true });
  for (const [path, text] of Object.entries(FILES)) writeFileSync(join(root, path), text);
  const file = join(engine.folder, 'ssh.tar');
  const paths = Object.keys(FILES).map((path) => join(root, path).slice(1));
  // OpenSSH 9.8 and later has its parts in this folder.
  const parts = existsSync('/usr/lib/openssh') ? ['usr/lib/openssh'] : [];
  makeBaseTar(file, [`--transform=s,^${root.slice(1)}/,,`, ...paths, ...parts], [SERVER, KEYGEN]);
  await engine.importTar(file, name, 'CMD ["/bin/sh","/start.sh"]');
  rmSync(file);
}
