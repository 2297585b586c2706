// test: alone, python
/** Python environments: reused, made anew when the requirements change, and clear words where something is missing. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '@slipway/dev/options';
import { findPython } from '@slipway/dev/python/find-python';
import { makeVenv, pythonInstallHint } from '@slipway/dev/python/python-venv';
import { runsAsRoot } from '@slipway/kit/host/host-user';
import t from 'tap';
import { scratch } from '../helpers/scratch.ts';
import { PYTHONS, skipWithoutPython } from '../helpers/system/handlers.ts';
import { ManualClock } from '../helpers/time/manual-clock.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

/**
 * A python3 of a few lines in front of the real one on the PATH: `venv` makes bin/python, pip and uv write down what
 * they were asked for. Files beside it say what fails; `settings` is what pip is configured with.
 */
const UV = `#!/bin/sh
echo "uv $*" >>"$FAKE/asked"; echo "Resolved 3 packages in 1ms"
[ ! -e "$FAKE/unsatisfiable" ] || { echo "  x No solution found when resolving dependencies:"; echo "  because nothing"; exit 1; }
[ ! -e "$FAKE/uv-fails" ]
`;
const PYTHON = `#!/bin/sh
case "$*" in
  *platform*) echo 3.12.1; echo "$0" ;;
  *"-m venv"*)
    while [ -e "$FAKE/hold" ]; do sleep 0.01; done
    [ -e "$FAKE/no-venv" ] && { echo "ensurepip is not available"; exit 1; }
    for dir; do :; done
    mkdir -p "$dir/bin" && cp "$0" "$dir/bin/python" ;;
  *"-m pip config list"*) [ ! -e "$FAKE/settings" ] || cat "$FAKE/settings" ;;
  *"-m pip install"*uv==*)
    [ ! -e "$FAKE/no-uv" ] && cp "$FAKE/uv" "\${0%/*}/uv" ;;
  *"-m pip"*)
    echo "pip $*" >>"$FAKE/asked"; echo "Collecting something (from here)"
    [ ! -e "$FAKE/no-pip" ] || { echo "No matching distribution"; exit 1; } ;;
esac
`;

/**
 * Yields without sleeping, as that SDK does between its jobs, until a pipe has something to say after half a second.
 */
const SPIN = `
import asyncio, json, os, threading
async def main():
    ours, theirs = os.pipe()
    came = asyncio.Event()
    asyncio.get_running_loop().add_reader(ours, came.set)
    threading.Timer(0.5, os.write, (theirs, b"it came")).start()
    rounds = 0
    while not came.is_set():
        rounds += 1
        await asyncio.sleep(0)
    print(json.dumps([rounds, os.read(ours, 100).decode()]))
asyncio.run(main())
`;

async function fakePython(t: Parameters<typeof scratch>[0]) {
  const place = await scratch(t);
  chmodSync(place.folder, 0o755);
  mkdirSync(place.path('bin'));
  writeFileSync(place.path('bin/python3'), PYTHON);
  writeFileSync(place.path('uv'), UV);
  for (const program of ['bin/python3', 'uv']) chmodSync(place.path(program), 0o755);
  const { PATH, FAKE } = process.env;
  t.teardown(() => {
    Object.assign(process.env, { PATH, FAKE });
  });
  Object.assign(process.env, { PATH: `${place.path('bin')}:${PATH}`, FAKE: place.folder });
  const lines: string[] = [];
  const clock = new ManualClock();
  const make = (more: string[], signal = new AbortController().signal): Promise<string> =>
    makeVenv(
      { requirements: { more }, parentDir: place.path('venvs') },
      { report: (line) => lines.push(line), signal, clock },
    );
  return { ...place, said: lines, make, clock };
}

t.test('made once for the same requirements', async (t) => {
  const { make, lines, said } = await fakePython(t);
  const first = await make(['runpod==1.12.0']);
  t.match(first, /venvs\/[0-9a-f]{12}\/bin\/python$/);
  t.ok(
    said.some((line) => line.includes('Resolved 3 packages')),
    'uv is seen at work',
  );
  t.equal(await make(['runpod==1.12.0']), first);
  t.equal(lines('asked').length, 1, 'it ran once');
  t.match(lines('asked')[0], /^uv pip install --python \S+venvs\/[0-9a-f]{12}\/bin\/python .*runpod==1\.12\.0/);
  t.not(await make(['runpod==1.7.13']), first, 'other requirements, another environment');
  t.equal(
    readdirSync(join(first, '../../..')).filter((name) => name.startsWith('installer-')).length,
    1,
    'uv is there once',
  );
});

t.test('pip is the fallback where uv is missing or fails', async (t) => {
  const { make, lines, open, said, path } = await fakePython(t);
  open('no-uv');
  await make(['a==1']);
  t.match(lines('asked'), [/^pip -m pip install .*a==1/]);
  t.ok(
    said.some((line) => line.includes('package 1, something')),
    'pip is seen at work',
  );
  rmSync(path('no-uv'));
  open('uv-fails');
  await make(['b==2']);
  t.match(lines('asked').slice(1), [/^uv .*b==2/, /^pip .*b==2/]);
});

t.test('requirements that cannot be satisfied: the words of uv at once, and pip is not asked too', async (t) => {
  const { make, lines, open, path, said } = await fakePython(t);
  open('unsatisfiable');
  const words = /nothing==9 cannot be installed:\n[\s\S]*No solution found[\s\S]*because nothing/;
  await t.rejects(make(['nothing==9']), { constructor: UsageError, message: words });
  t.match(lines('asked'), [/^uv /]);
  t.equal(lines('asked').length, 1);
  rmSync(path('unsatisfiable'));
  await make(['nothing==9']);
  t.equal(lines('asked').length, 2, 'a failed one is not taken for made');
  t.notOk(said.some((line) => line.includes('pip')));
});

t.test("pip's settings apply to uv; one unknown to uv selects pip", async (t) => {
  const { make, lines, path } = await fakePython(t);
  writeFileSync(
    path('settings'),
    "global.index-url='https://packages.example/simple'\n" +
      ":env:.timeout='180'\n" +
      "global.trusted-host='a.example\\n" +
      "b.example'\n",
  );
  await make(['a==1']);
  t.match(lines('asked'), [
    / --default-index https:\/\/packages\.example\/simple --allow-insecure-host a\.example --allow-insecure-host b\.example a==1/,
  ]);
  for (const setting of [
    "global.no-index='true'",
    "install.constraint='/c.txt'",
    "global.index-url='odd\\tvalue'",
    "global.proxy='http://p.example'",
  ]) {
    writeFileSync(path('settings'), `${setting}\n`);
    await make([`b==${setting}`]);
    t.match(lines('asked').at(-1), /^pip /, setting);
  }
});

t.test('missing programs are named', async (t) => {
  const { make, open, lines } = await fakePython(t);
  open('uv-fails');
  open('no-pip');
  await t.rejects(make(['nothing==9']), {
    constructor: UsageError,
    message: /could not install nothing==9[\s\S]*No matching/,
  });
  await t.rejects(make(['nothing==9']), { message: /No matching distribution/ });
  t.equal(lines('asked').length, 4, 'a failed one is not taken for made');
  open('no-venv');
  await t.rejects(make(['x']), {
    message: new RegExp(`ensurepip is not available[\\s\\S]*${pythonInstallHint().slice(0, 10)}`),
  });
  process.env.PATH = '/nowhere';
  await t.rejects(make(['x']), { constructor: UsageError, message: /need python3, which is missing here/ });
});

t.test(
  'root does not take one that workers cannot reach',
  { skip: runsAsRoot() ? false : 'needs root to run something as another user' },
  async (t) => {
    const { folder } = await fakePython(t);
    const find = () => findPython(new AbortController().signal);
    t.equal((await find())!.program, 'python3');
    chmodSync(folder, 0o700);
    t.match(await find(), { program: '/usr/bin/python3', executable: '/usr/bin/python3' }, 'as below /root');
  },
);

t.test('no disk space for it', async (t) => {
  const { make, path } = await fakePython(t);
  writeFileSync(path('venvs'), 'a file stands where the folder should be');
  await t.rejects(make(['x']), {
    constructor: UsageError,
    message: /No Python environment can be created in .*venvs/,
  });
});

t.test('stopped in the middle', async (t) => {
  const { make } = await fakePython(t);
  const stopping = new AbortController();
  stopping.abort();
  await t.rejects(make(['x'], stopping.signal), { constructor: UsageError, message: /Stopped/ });
});

t.test('progress is reported to the waiting user', async (t) => {
  const { make, clock, said, open, path } = await fakePython(t);
  open('hold');
  const made = make(['runpod==1.12.0']);
  await waitFor('the work to begin', async () => said.length > 0);
  clock.pass(10_000);
  clock.pass(10_000);
  rmSync(path('hold'));
  await made;
  t.same(
    said.filter((line) => line.includes('still')),
    ['  still at it after 10 s', '  still at it after 20 s'],
  );
  clock.pass(10_000);
  t.equal(said.filter((line) => line.includes('still')).length, 2, 'and no more when it is done');
});

const { SLIPWAY_TEST_PYTHON_NEW, SLIPWAY_TEST_PYTHON_OLD } = process.env;
const others = SLIPWAY_TEST_PYTHON_NEW || SLIPWAY_TEST_PYTHON_OLD ? 'other Pythons are named' : false;

t.test(
  'the Pythons of tests know their processor: no worker measures it',
  { skip: others || skipWithoutPython('new', 'old') },
  async (t) => {
    const program = `
import cpuinfo.cpuinfo, subprocess
read = cpuinfo.cpuinfo._get_cpu_info_from_proc_cpuinfo()
def refuse(*_, **__):
    raise SystemExit("it measures")
subprocess.Popen = refuse
known = cpuinfo.get_cpu_info()
print(read.get("brand_raw") in (None, known.get("brand_raw")), known["count"] > 0)
`;
    for (const python of Object.values(PYTHONS))
      t.equal(execFileSync(python, ['-c', program], { encoding: 'utf8' }), 'True True\n');
  },
);

t.test(
  "loops of the tests' Python of the 1.7 line rest when they only go round, and wake for what comes",
  { skip: skipWithoutPython('old') },
  async (t) => {
    const [rounds, read] = JSON.parse(execFileSync(PYTHONS.old, ['-c', SPIN], { encoding: 'utf8' })) as [
      number,
      string,
    ];
    t.ok(rounds < 2_000, `${rounds} rounds while a reader waited for half a second`);
    t.equal(read, 'it came');
  },
);
