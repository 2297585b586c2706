/** Run by a test as another user: prints whether workers would run as a separate user, and the log about it. */
import { Writable } from 'node:stream';
import { parseWorkerUser } from '@slipway/gpu-agent/users/worker-user-setting';
import { WorkerUsers } from '@slipway/gpu-agent/users/worker-users';
import { pino } from 'pino';

const said: string[] = [];
const lines = new Writable({
  write: (line: Buffer, _encoding, done) => {
    said.push((JSON.parse(String(line)) as { msg: string }).msg);
    done();
  },
});
const { differ } = new WorkerUsers(parseWorkerUser(process.argv[2]!)!, '/nowhere', pino(lines));
process.stdout.write(JSON.stringify({ differ, said }));
