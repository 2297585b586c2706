/** `slipway env`: the variables with which clients of the public API reach this installation. */

import type { Command } from 'commander';
import { Option } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { UsageError } from '../failures.ts';
import type { Target } from '../target.ts';
import type { ClientGuide, ClientName, Installation } from './client-variables.ts';
import { CLIENT_GUIDES } from './client-variables.ts';

interface EnvOptions {
  for?: ClientName;
  url?: string;
}

const NAMES = Object.keys(CLIENT_GUIDES) as ClientName[];

/** Adds the command. */
export function addEnv(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'env',
    description: 'Print the variables with which a client reaches this installation; a shell takes them by eval.',
    examples: ['env --for python', 'env --for mcp --url https://gpu.example', 'env --json'],
  })
    .addOption(new Option('--for <client>', 'only those of this client; default: of all').choices(NAMES))
    .option('--url <url>', 'public address of the service; default SLIPWAY_URL, beside npm start its own')
    .action((options: EnvOptions) => printVariables(cli, options));
}

function printVariables({ target, output }: Cli, options: EnvOptions): void {
  const installation = installationOf(target, options.url);
  const chosen = options.for === undefined ? NAMES : [options.for];
  const guides = chosen.map((name) => {
    const guide: ClientGuide = CLIENT_GUIDES[name];
    return { name, reads: guide.reads, variables: given(guide, installation), notes: guide.notes(installation) };
  });
  output.result(guides, () => {
    for (const { reads, variables, notes } of guides) {
      for (const text of [`For ${reads}.`, ...notes]) output.line(`# ${text}`);
      for (const [name, value] of Object.entries(variables)) output.line(`export ${name}=${shellQuoted(value)}`);
    }
  });
  if (installation.key === undefined)
    output.note('There is no API key for this address, so its variable is left out: give --key or SLIPWAY_API_KEY.');
}

/** Throws UsageError if the address is unknown or invalid. The key of local.env is shown only for its own address. */
function installationOf({ url: usual, user }: Target, asked: string | undefined): Installation {
  const text = asked ?? usual;
  if (text === undefined)
    throw new UsageError(
      'The public address of the service is unknown. Give it with --url or SLIPWAY_URL, such as https://gpu.example.',
    );
  const url = originOf(text);
  return { url, key: user.url === undefined || originOf(user.url) === url ? user.key : undefined };
}

/** Returns the origin of an address without a path. Throws UsageError. */
export function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain =
    url !== undefined && /^https?:$/.test(url.protocol) && `${url.pathname}${url.search}${url.hash}` === '/';
  if (isPlain && url.username === '' && url.password === '') return url.origin;
  throw new UsageError(
    `The address is ${JSON.stringify(text)}, but must be http:// or https:// with a host and nothing behind it.`,
  );
}

function given(guide: ClientGuide, installation: Installation): Record<string, string> {
  const entries = Object.entries(guide.variables(installation));
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Quotes a text for POSIX shells. A key may contain any printable character. */
function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
