/**
 * As whom `npm start` runs workers: as root each account's own user where such a user reaches the handler, else root
 * with a word about it.
 */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chooseWorkerUser } from '@slipway/dev/worker-user';
import t from 'tap';
import { openFolder } from '../helpers/open-folder.ts';

const asRoot = process.getuid!() === 0;

t.test(
  'where a worker can reach what it needs, and where not',
  { skip: asRoot ? false : 'needs root to run something as another user' },
  async (t) => {
    const folder = await openFolder(t);
    mkdirSync(join(folder, 'data'), { mode: 0o711 });
    const file = join(folder, 'handler.js');
    writeFileSync(file, '');
    chmodSync(file, 0o644);
    const handler = {
      name: 'handler',
      file,
      command: [process.execPath, file],
      lb: false,
      example: { method: 'POST', path: '/', body: '{}' },
    };
    const choose = () => chooseWorkerUser(handler, join(folder, 'data'));
    t.same(await choose(), { setting: 'per-account', problem: undefined });
    chmodSync(file, 0o600);
    t.match(await choose(), {
      setting: 'same',
      problem: new RegExp(`Workers run as root .*${file} cannot be read\\. Move project`),
    });
    chmodSync(file, 0o644);
    chmodSync(join(folder, 'data'), 0o700);
    t.match(await choose(), { setting: 'same', problem: /Workers run as root .*cd.*data/ });
  },
);
