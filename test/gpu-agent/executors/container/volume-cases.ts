/**
 * One network volume of an account, used alternately by images and by commands of the host on a real engine. Files that
 * root in a container leaves there give no user more privileges, and each user can work with what earlier users made.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { hostPrograms } from '@slipway/gpu-agent/executors/container/host-programs';
import { HostViews } from '@slipway/gpu-agent/executors/process/host-views';
import { ProcessExecutor } from '@slipway/gpu-agent/executors/process/process-executor';
import { ViewingExecutor } from '@slipway/gpu-agent/executors/process/viewing-executor';
import { VolumeFolders } from '@slipway/gpu-agent/launch/volume-folders';
import { tryAs } from '@slipway/kit/host/host-user';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import { freshId, launchOf, makeExecutor, startContainer } from '../../../helpers/engines/containers.ts';
import { BASE_IMAGE, makeBaseTar } from '../../../helpers/engines/podman-images.ts';
import { openFolder } from '../../../helpers/open-folder.ts';
import type { TestEngine } from '../../../helpers/system/test-engine.ts';

const ACCOUNT = { uid: 7_654_321, gid: 7_654_321 };
/** Images with a user of their own. */
const [ONE, OTHER] = ['localhost/user-1234:1', 'localhost/user-5678:1'];
/** Host user of root in containers. */
const BASE = 7_700_000;
const STRANGER = { uid: 7_654_322, gid: 7_654_322 };
const logger = createLogger('test', 'silent');

/**
 * Makes a folder of volumes. Returns ways for the account's workloads to use one, which return exit code and output.
 * `$V` is the volume.
 */
async function makeVolumes(t: Test, engine: TestEngine, userBase = 0) {
  const folder = join(await openFolder(t), 'volumes');
  const views = new HostViews(folder, hostPrograms);
  t.teardown(() => views.end());
  const volumes = new VolumeFolders(folder, views, logger);
  const { executor } = makeExecutor(engine, { userBase });
  const commands = new ViewingExecutor(new ProcessExecutor(systemClock, () => 'machine'), views);
  const volume = { networkVolumeId: freshId(), mountPath: '/runpod-volume', sizeGb: 1 };
  const run = async (
    script: string,
    image?: string,
  ): Promise<{ code: number | undefined; output: string; place: string }> => {
    const mounts = await volumes.open([volume], image === undefined ? 'process' : 'container', ACCOUNT);
    const place = mounts[0]!.target;
    const launch = launchOf(script, {
      mounts,
      env: { V: place, PATH: '/usr/bin:/bin' },
      user: ACCOUNT,
      workingDirectory: '/',
      image:
        image === undefined
          ? undefined
          : { name: image, digest: '', credentials: undefined, resolveDigest: async (digest) => digest },
    });
    if (image !== undefined)
      return { ...(await (await startContainer(executor, launch)).ended), output: launch.output(), place };
    await commands.prepare(launch, () => undefined, new AbortController().signal);
    return { ...(await commands.start(launch).ended), output: launch.output(), place };
  };
  return { folder, path: join(folder, volume.networkVolumeId), run };
}

/** Runs them all as parts of a test. */
export async function volumeCases(t: Test, engine: TestEngine): Promise<void> {
  const tar = join(engine.folder, 'users.tar');
  makeBaseTar(tar);
  await engine.importTar(tar, ONE, 'USER 1234');
  await engine.importTar(tar, OTHER, 'USER 5678:100');

  await t.test('root in a container leaves nothing that makes a command of the host root', async (t) => {
    const { folder, path, run } = await makeVolumes(t, engine);
    const attack = [
      'import os, shutil, stat',
      'v = os.environ["V"]',
      'shutil.copy("/usr/bin/id", v + "/id")',
      'os.chmod(v + "/id", 0o4755)',
      'os.chmod(v, 0o777)',
      'def tries(what, do):',
      '  try:',
      '    do()',
      '    print(what, "done")',
      '  except PermissionError:',
      '    print(what, "forbidden")',
      'tries("mknod", lambda: os.mknod(v + "/disk", 0o666 | stat.S_IFBLK, os.makedev(254, 0)))',
      // cap_setuid, permitted and effective.
      'tries("setcap", lambda: os.setxattr(v + "/id", "security.capability", ' +
        'bytes.fromhex("0100000280000000000000000000000000000000")))',
    ];
    const left = await run(`exec python3 -c '${attack.join('\n')}'`, BASE_IMAGE);
    t.match(left, { code: 0, output: 'mknod forbidden\nsetcap forbidden\n' });
    // A device file from a machine where containers could once create one.
    execFileSync('mknod', ['-m', '666', join(path, 'null'), 'c', '1', '3']);
    const ran = await run('"$V/id" -u; cat "$V/null" 2>&1; :');
    t.match(ran.output, new RegExp(`^${ACCOUNT.uid}\\n.*Permission denied`));
    for (const user of [ACCOUNT, STRANGER])
      t.match(await tryAs(user, '"$1/id" -u', path), /Permission denied/, 'no user of the host comes in');
    t.match(await tryAs(STRANGER, 'ls "$1"', folder), /Permission denied/);
  });

  await t.test("any image and commands in turn: each can use the others' files", async (t) => {
    const { run } = await makeVolumes(t, engine);
    let expected = '';
    const users: [name: string, image?: string][] = [
      ['1234', ONE],
      ['5678', OTHER],
      ['command'],
      ['root', BASE_IMAGE],
      ['1234', ONE],
      ['command'],
      ['5678', OTHER],
    ];
    for (const [turn, [name, image]] of users.entries()) {
      const word = `${turn}-${name}`;
      expected += `${word}\n`;
      // As programs do that keep their files private.
      const writes = `echo ${word} >> log; mkdir -p deep/er; echo ${word} > deep/er/${word}; echo ${word} > deep/last`;
      const script = `set -e; umask 077; cd "$V"; ${writes}; cat log; ls deep/er`;
      const { code, output } = await run(script, image);
      t.equal(code, 0, output);
      t.match(output, expected, word);
    }
  });

  await t.test("a single user's file modes are kept", async (t) => {
    const { run } = await makeVolumes(t, engine);
    for (let times = 0; times < 2; times += 1) {
      const { output } = await run(
        'cd "$V"; mkdir -p -m 700 own; umask 077; [ -e key ] || echo text > key; ls -ld own key',
        ONE,
      );
      t.match(output, /^-rw-------.*key\ndrwx------.*own\n$/);
    }
  });

  await t.test('a volume of an earlier release becomes writable for an image with a user', async (t) => {
    const { folder, path, run } = await makeVolumes(t, engine);
    mkdirSync(join(path, 'models'), { recursive: true });
    execFileSync('chmod', ['711', folder]);
    execFileSync('chown', ['-R', `${ACCOUNT.uid}:${ACCOUNT.gid}`, path]);
    execFileSync('chmod', ['-R', '700', path]);
    t.match(await run('echo text > "$V/models/new"; mkdir "$V/huggingface-cache"; ls "$V"', ONE), {
      code: 0,
      output: 'huggingface-cache\nmodels\n',
    });
    t.match(await run('cat "$V/models/new"; rm -r "$V/huggingface-cache"'), { code: 0, output: 'text\n' });
  });
}

/**
 * Root of a container is an ordinary user of the host, and a volume is used in turn as without that. Uses an image of
 * `volumeCases`.
 */
export async function mappedUserCases(t: Test, engine: TestEngine): Promise<void> {
  const { path, run } = await makeVolumes(t, engine, BASE);
  const owner = (name: string): object => {
    const { uid, gid } = statSync(join(path, name));
    return { uid, gid };
  };
  const owns = `python3 -c 'import os; os.chown(".", 0, 0)'`;
  const root = await run(
    `set -e; cd "$V"; cat /proc/self/uid_map; ${owns}; umask 077; echo root > of-root`,
    BASE_IMAGE,
  );
  t.match(root, { code: 0, output: new RegExp(`^ +0 +${BASE} +65536\n$`) });
  t.same(owner('of-root'), { uid: BASE, gid: BASE }, 'root of the container is no root of the host');
  t.match(await run('cd "$V"; id -u; cat of-root; umask 077; echo image > of-image', ONE), {
    code: 0,
    output: '1234\nroot\n',
  });
  t.equal(statSync(join(path, 'of-image')).uid, BASE + 1_234);
  const command = await run('cd "$V"; cat of-root of-image; umask 077; echo command > of-command');
  t.match(command, { code: 0, output: 'root\nimage\n' });
  t.match(await run('cd "$V"; cat of-root of-image of-command', BASE_IMAGE), {
    code: 0,
    output: 'root\nimage\ncommand\n',
  });
}
