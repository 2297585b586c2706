/** The first page of help: all commands by subject, on one screen. */
import type { Command } from 'commander';
import { Help } from 'commander';

type Row = readonly [names: readonly string[], about: string];

const GROUPS: Readonly<Record<string, readonly Row[]>> = {
  Jobs: [
    [['jobs'], 'run, show, follow, cancel and retry jobs'],
    [['batches'], 'run many requests of a file in the time that workers have left'],
    [['cancel', 'retry'], 'all jobs of an endpoint, or jobs that match a filter'],
    [['logs'], 'lines of a worker, of a job, or of all workers of an endpoint'],
    [['why', 'decisions'], 'why a job waits; why an endpoint has these workers'],
    [['times', 'errors'], 'how long jobs waited and ran; what they failed of'],
  ],
  Endpoints: [
    [['deploy'], 'an endpoint from an image, in one step'],
    [['endpoints', 'templates'], 'create, show, change, roll back and delete them'],
    [['workers', 'pods'], 'what runs now'],
    [['volumes', 'secrets', 'registry-auths'], 'disks, secret values, logins of image registries'],
    [['init'], 'a folder with a handler and everything around it'],
    [['apply', 'export'], 'all of these from a file, and as a file'],
    [['import'], 'take over an account of another service'],
  ],
  Installation: [
    [['machines', 'pools', 'models'], 'let machines join, drain and remove them; their pools and models'],
    [['authority', 'secret-key'], 'whom the parts trust as core; what seals secrets; how to exchange both'],
    [['start'], 'run all of Slipway on this machine'],
    [['core', 'facade', 'edge', 'agent'], 'run one part on this machine'],
    [['doctor'], 'check a machine and its way to core, before a part runs there'],
    [['install'], 'write the systemd unit of a part'],
    [['backup', 'restore'], 'copy an installation, and make it anew from the copy'],
    [['keys', 'accounts'], 'API keys; owners of everything, and their limits'],
    [['usage', 'prices', 'audit', 'alerts'], 'usage and costs, audit trail, sent alerts'],
  ],
  'This command': [
    [['login', 'context'], 'choose the installation that commands go to'],
    [['open', 'env'], 'pages of the console; variables for clients of the public API'],
    [['completion', 'version', 'help'], 'completion for bash, zsh and fish; versions; help of a command'],
  ],
};

/** Returns the help of a command. The program's own help shows the commands by subject. */
export function formatHelp(command: Command, helper: Help): string {
  if (command.parent) return Help.prototype.formatHelp.call(helper, command, helper);
  const rows = Object.values(GROUPS).flat();
  const width = Math.max(...rows.map(([names]) => names.join(', ').length));
  const item = (term: string, about: string): string => helper.formatItem(term, width, about, helper);
  const groups = Object.entries(GROUPS).map(([title, all]) => [
    `${title}:`,
    ...all.map(([names, about]) => item(names.join(', '), about)),
  ]);
  const options = helper.visibleOptions(command).map((option) => item(helper.optionTerm(option), option.description));
  return [
    `Usage: ${helper.commandUsage(command)}`,
    '',
    helper.boxWrap(`${helper.commandDescription(command)} A noun alone lists: slipway endpoints.`, helper.helpWidth!),
    '',
    ...groups.flat(),
    'Options of every command:',
    ...options,
    '',
  ].join('\n');
}

/** Returns the names of all commands that the first page shows. */
export function helpNames(): string[] {
  return Object.values(GROUPS).flatMap((rows) => rows.flatMap(([names]) => names));
}
