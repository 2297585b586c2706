/** Completion: words from the commands themselves, in a real bash; and the folder that `slipway init` makes. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { commandLine } from './command-line.ts';

t.test('commands, options, their words, and contexts', async (t) => {
  const cli = commandLine(t, {});
  const words = async (...line: string[]) =>
    (await cli.json<{ word: string }[]>('completion', 'words', '--', ...line)).map(({ word }) => word);
  t.same(await words('endp'), ['endpoints']);
  t.ok((await words('jobs', 'r')).includes('run'));
  t.same(await words('jobs', 'list', '--sta'), ['--status']);
  t.same(await words('--json', 'jobs', 'list', '--status', 'can'), ['cancelled']);
  t.same(await words('doctor', 'a'), ['agent']);
  t.same(await words('help', 'ap'), ['apply']);
  t.same(await words('endpoints', 'get', ''), [], 'nobody is there to be asked');
  await cli.run('context', 'add', 'lab', '--core', '127.0.0.1:1');
  t.same(await words('context', 'use', 'l'), ['lab', 'local']);
  t.same(await words('--context', 'la'), ['lab']);
});

t.test('in a real bash', async (t) => {
  const cli = commandLine(t, {});
  const bin = join(cli.cwd, 'bin');
  mkdirSync(bin);
  symlinkSync(join(import.meta.dirname, '../../cli/slipway'), join(bin, 'slipway'));
  const script = join(cli.cwd, 'completion.bash');
  writeFileSync(script, (await cli.run('completion', 'bash')).stdout);
  const test = `source "$1"; COMP_WORDS=(slipway jobs ca); COMP_CWORD=2; _slipway; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: cli.cwd };
  t.equal(execFileSync('bash', ['-c', test, 'bash', script], { encoding: 'utf8', env }), 'cancel\n');
});

t.test('zsh: the first completion loads the script, and completes already', async (t) => {
  const { stdout } = await commandLine(t, {}).run('completion', 'zsh');
  t.match(stdout, /^#compdef slipway\n/);
  t.match(
    stdout,
    /\nif \[\[ \$funcstack\[1\] == _slipway \]\]; then _slipway "\$@"; else compdef _slipway slipway; fi\n$/,
  );
});

t.test('init makes a folder that apply reads, and overwrites nothing', async (t) => {
  const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: '127.0.0.1:1', SLIPWAY_API_KEY: 'rpa_key' });
  t.match(await cli.run('init', 'shop'), { code: 0, stderr: /npm start -- --handler shop\/handler\.py/ });
  const made = ['Containerfile', 'README.md', 'handler.py', 'requirements.txt', 'slipway.yaml', 'test_input.json'];
  t.same(readdirSync(join(cli.cwd, 'shop')).toSorted(), made);
  t.match(await cli.run('init', 'shop'), { code: 2, stderr: /exists already/ });
  t.match(await cli.run('init', 'A B'), { code: 2, stderr: /cannot name an image/ });
  t.match(await cli.run('apply', '-f', 'shop'), { code: 3, stderr: /cannot be reached/ }, 'its file is right');
});
