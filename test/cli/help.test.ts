// test: alone, 10 s
/** Every command explains itself: what it does, each option, and examples that the parser takes. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expandNoun } from '@slipway/cli/command-words';
import { helpNames } from '@slipway/cli/help';
import type { Command } from 'commander';
import { parse } from 'shell-quote';
import t from 'tap';
import { commandLine } from './command-line.ts';
import { buildParser } from './parser.ts';

function* commandsOf(command: Command, path: string[] = []): Generator<[path: string[], command: Command]> {
  yield [path, command];
  for (const child of command.commands) yield* commandsOf(child, [...path, child.name()]);
}

t.test('every command has a description, described options and examples', async (t) => {
  const { program, text } = buildParser();
  const all = [...commandsOf(program)];
  t.ok(all.length > 50, `${all.length} commands`);
  for (const [path] of all) {
    t.throws(() => program.parse([...path, '--help'], { from: 'user' }), { code: 'commander.helpDisplayed' });
    const help = text();
    t.match(help, /^Usage: slipway/, path.join(' '));
    t.match(help, /Examples?:\n {2}\$ /, `${path.join(' ')} has an example`);
    t.match(
      help,
      /--core <host:port>[^]*--key <key>[^]*--json/,
      `${path.join(' ')} shows the options that every command takes`,
    );
  }
  for (const [path, command] of all) {
    t.match(command.description(), /^[A-Z].*[.]$/, `${path.join(' ')} is described by a sentence`);
    for (const option of command.options) t.not(option.description, '', `${path.join(' ')} ${option.flags}`);
  }
});

t.test('the examples are command lines that the parser takes', async (t) => {
  const { program, text } = buildParser();
  const paths = [...commandsOf(program)].map(([path]) => path);
  // Parses without doing anything.
  const parser = buildParser().program;
  for (const [, command] of commandsOf(parser)) if (command.commands.length === 0) command.action(() => undefined);
  let checked = 0;
  for (const path of paths) {
    t.throws(() => program.parse([...path, '--help'], { from: 'user' }));
    for (const [, line] of text().matchAll(/^ {2}\$ (.*)$/gm)) {
      const words = parse(line!).map((word) => (typeof word === 'string' ? word : '<'));
      const args = words.slice(words.lastIndexOf('slipway') + 1);
      const end = args.indexOf('<');
      t.doesNotThrow(
        () => accept(parser, end === -1 ? args : args.slice(0, end)),
        `slipway ${path.join(' ')}: ${line}`,
      );
      checked += 1;
    }
  }
  t.ok(checked > 60, `${checked} examples`);
});

function accept(program: Command, args: string[]): void {
  try {
    program.parse(expandNoun(program, args), { from: 'user' });
  } catch (error) {
    if ((error as { exitCode?: number }).exitCode !== 0) throw error;
  }
}

t.test('help, version and no command at all', async (t) => {
  const cli = commandLine(t, {});
  const run = (...args: string[]) => cli.start(...args).ended;
  const help = await run('--help');
  t.match(help, { code: 0, stdout: /^Usage: slipway[^]*Exit codes:/, stderr: '' });
  t.match(await run('jobs', 'run', '--help'), { code: 0, stdout: /--input <json>[^]*Examples:/, stderr: '' });
  t.match(await run('--version'), { code: 0, stdout: /^\d+\.\d+\.\d+\n$/, stderr: '' });
  t.match(await run(), { code: 2, stdout: '', stderr: /^Usage: slipway/ }, 'no command: the help goes to stderr');
  t.match(await cli.run('context'), { code: 0, stdout: '', stderr: /^There are no contexts/ }, 'a noun alone lists');
  t.match(await cli.run('prices', '--help'), { code: 0, stdout: /^Usage: slipway prices /, stderr: '' });
});

t.test('the first page names every command once and fits a screen', async (t) => {
  const { program } = buildParser();
  t.same(helpNames().toSorted(), [...program.commands.map((command) => command.name()), 'help'].toSorted());
  const lines = program.helpInformation().split('\n');
  t.ok(lines.length < 50, `${lines.length} lines`);
  for (const line of lines) t.ok(line.length <= 120, line);
});

t.test('help fits a narrow terminal', async (t) => {
  const { program } = buildParser(60);
  const pages = new Map([...commandsOf(program)].map(([path, command]) => [path.join(' '), command]));
  for (const path of ['', 'jobs', 'logs', 'machines', 'endpoints health']) {
    const lines = pages.get(path)!.helpInformation().split('\n');
    t.same(
      lines.filter((line) => line.length > 60 && !line.startsWith('Usage: ')),
      [],
      `slipway ${path}`,
    );
  }
});

t.test('a noun alone lists, also with options', async (t) => {
  const { program } = buildParser();
  const expand = (line: string): string => expandNoun(program, line.split(' ')).join(' ');
  t.equal(expand('jobs'), 'jobs list');
  t.equal(expand('--json --core a:1 jobs --status failed'), '--json --core a:1 jobs list --status failed');
  t.equal(expand('workers ocr --json'), 'workers list ocr --json');
  for (const same of [
    'jobs --help',
    'jobs get x',
    'jobs lst',
    'why ocr',
    'agent --join jobs',
    'help jobs',
    '--version',
  ])
    t.equal(expand(same), same);
});

/** Written to stderr at the end: what was loaded of npm's packages. */
const LOADED = `
  import { registerHooks } from 'node:module';
  const packages = new Set();
  registerHooks({ load: (url, context, next) => {
    packages.add(/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1] ?? 'own');
    return next(url, context);
  } });
  process.on('exit', () => process.stdout.write(JSON.stringify([...packages])));
`;

t.test(
  'a command loads what it needs and no library of the services: each would be waited for at every command',
  async (t) => {
    const program = join(import.meta.dirname, '../../cli/slipway.mjs');
    const output = execFileSync(
      process.execPath,
      ['--import', `data:text/javascript,${encodeURIComponent(LOADED)}`, program, '--version'],
      { encoding: 'utf8' },
    );
    const packages = JSON.parse(output.split('\n')[1]!) as string[];
    t.same(packages.toSorted(), [
      '@bufbuild/protobuf',
      '@grpc/grpc-js',
      '@js-sdsl/ordered-map',
      'commander',
      'own',
      'shell-quote',
    ]);
  },
);
