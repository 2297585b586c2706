/** `slipway open`: shows the page that the console has of a thing. */
import { spawn } from 'node:child_process';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { originOf } from '../clients/env.ts';
import { addCommand } from '../command.ts';
import { JOB_ID } from '../endpoints/why.ts';
import { UsageError } from '../failures.ts';
import { endpointIdOf } from '../shared/find-endpoint.ts';

interface OpenOptions {
  endpoint?: string;
  print?: boolean;
}

/** Lists that the console has. */
const LISTS = ['machines', 'usage', 'templates', 'pods', 'keys', 'volumes', 'secrets'];
const BROWSERS: Readonly<Record<string, string>> = { darwin: 'open', win32: 'explorer' };

/** Adds the command. */
export function addOpen(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'open [what]',
    description: `Open the console: its first page, that of an endpoint or a job, or a list (${LISTS.join(', ')}).`,
    examples: ['open', 'open ocr', 'open JOB --endpoint ocr', 'open machines --print'],
  })
    .option('-e, --endpoint <endpoint>', 'endpoint of the job, by id or name')
    .option('--print', 'write the address and open nothing')
    .action((what: string | undefined, options: OpenOptions) => openPage(cli, what, options));
}

async function openPage(cli: Cli, what: string | undefined, { endpoint, print = false }: OpenOptions): Promise<void> {
  const { target, output } = cli;
  if (target.url === undefined)
    throw new UsageError(
      'The public address of the service is unknown. Set it with SLIPWAY_URL, or with slipway context add NAME --url.',
    );
  const url = `${originOf(target.url)}/console${await pathOf(cli, what, endpoint)}`;
  output.result({ url }, () => output.line(url));
  if (!print && !output.json) openBrowser(url);
}

async function pathOf(cli: Cli, what: string | undefined, endpoint: string | undefined): Promise<string> {
  if (what === undefined) return endpoint === undefined ? '/' : `/endpoints/${await endpointIdOf(cli, endpoint)}`;
  if (JOB_ID.test(what)) return `/endpoints/${await endpointIdOf(cli, endpoint)}/jobs/${what}`;
  return LISTS.includes(what) ? `/${what}` : `/endpoints/${await endpointIdOf(cli, what)}`;
}

/** Starts the browser of this machine. The address is on stdout for a machine without one. */
function openBrowser(url: string): void {
  const browser = spawn(BROWSERS[process.platform] ?? 'xdg-open', [url], { stdio: 'ignore', detached: true });
  browser.on('error', () => undefined);
  browser.unref();
}
