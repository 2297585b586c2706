/** Names whose servers never answer, as many as webhooks may go to at once, keep no other name waiting. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { AT_ONCE_MAX } from '@slipway/core/singleton-tasks/webhook-caller';
import { CORE_ENVIRONMENT } from '@slipway/kit/host/node-settings';
import t from 'tap';

/** Where nothing that is asked is answered. */
const SILENT = '127.0.0.9';
/** Less than a name takes whose server is silent. */
const WAIT_MS = 5_000;

/**
 * Prints the address of localhost while all those names are looked for. It kills itself because an exit waits for them.
 */
const PROGRAM = `
  const socket = require('node:dgram').createSocket('udp4');
  const { lookup } = require('node:dns');
  const { writeSync } = require('node:fs');
  socket.bind(53, '${SILENT}', () => {
    let asked = 0;
    socket.on('message', () => {
      if (asked++ > 0) return;
      lookup('localhost', { family: 4 }, (error, address) => { writeSync(1, address); process.kill(process.pid, 'SIGKILL'); });
    });
    for (let i = 0; i < ${AT_ONCE_MAX}; i += 1) lookup('h' + i + '.example', () => {});
  });`;

t.ok(
  Number(CORE_ENVIRONMENT['UV_THREADPOOL_SIZE']) / 2 > AT_ONCE_MAX,
  'a thread for each webhook, of the half that may look up names',
);

const isRoot = process.getuid?.() === 0;
t.test(
  'another name beside names without an answer',
  { skip: !isRoot && 'only root can have a resolver of its own' },
  async (t) => {
    const file = join(t.testdir({}), 'resolv.conf');
    writeFileSync(file, `nameserver ${SILENT}\n`);
    const inside = [
      '-m',
      'sh',
      '-c',
      'mount --bind "$1" /etc/resolv.conf && exec "$2" -e "$3"',
      'sh',
      file,
      process.execPath,
      PROGRAM,
    ];
    const asked = promisify(execFile)('unshare', inside, {
      env: { ...process.env, ...CORE_ENVIRONMENT },
      timeout: WAIT_MS,
      killSignal: 'SIGKILL',
    });
    const { stdout } = await asked.catch((killed: { stdout: string }) => killed);
    t.equal(stdout, '127.0.0.1');
  },
);
