/**
 * `npm start`: all of Slipway on this machine until Ctrl-C. Run through install/start.sh, which installs what is
 * missing.
 */
import { extname, join, relative } from 'node:path';
import { collectWhenIdle } from '@slipway/kit/host/collect-when-idle';
import { runsAsRoot } from '@slipway/kit/host/host-user';
import { backgroundClock, systemClock } from '@slipway/kit/time/clock';
import { exampleCurl } from './example-request.ts';
import type { LocalSystem } from './launcher.ts';
import { Launcher } from './launcher.ts';
import { shellQuote } from './local-env.ts';
import { helpText, readOptions, UsageError } from './options.ts';
import { ProcessError } from './processes/supervised-process.ts';
import { Progress } from './progress.ts';

/** Folder that has the parts by name: the project, or the folder @slipway of an installation. */
const root = join(import.meta.dirname, '..');
/** An installation may lie where nothing is to be written, such as /usr/lib. */
const isInstalled = extname(import.meta.filename) === '.js';
/** npm scripts run in the project; INIT_CWD is where npm was called. */
const callerDir = (!isInstalled && process.env.INIT_CWD) || process.cwd();
const EXIT_USAGE = 2;
/** Time between two looks for npm, in milliseconds. */
const PARENT_PERIOD_MS = 2_000;
/** Path at which the command line looks by default. */
const LOCAL_ENV = join('.slipway', 'local.env');

function summary(system: LocalSystem, seconds: string): string {
  const shown = (path: string): string =>
    relative(callerDir, path).startsWith('..') ? path : relative(callerDir, path);
  const { url, apiKey, endpointId, handler, data } = system;
  const join =
    `npx slipway agent --join ${system.coreAddress}${runsAsRoot() ? ' --worker-user per-account' : ''} ` +
    '--allow-commands --key-file agent.key';
  const slipway =
    shown(data.localEnvFile) === LOCAL_ENV
      ? 'npx slipway'
      : `npx slipway --local-env ${shellQuote(shown(data.localEnvFile))}`;
  const example = handler.lb ? 'A request' : 'A job';
  return `
Slipway is ready after ${seconds} s.

  address    ${url}   (${handler.lb ? `all paths below /v2/${endpointId}/` : `jobs: /v2/${endpointId}/run, /runsync, /status, …`})
  console    ${url}/console
  manage     ${slipway} --help, ${url}/v1 (read ${url}/v1/docs) or ${url}/graphql
  clients    ${slipway} env --for python, ctl, mcp, terraform, dstack or openai
  API key    ${apiKey}
  endpoint   ${endpointId}   (${handler.name}: ${shown(handler.file)})
  gRPC       ${system.coreAddress}
  for shells ${shown(data.localEnvFile)}   logs ${shown(data.logDir)}
${
  system.agent
    ? ''
    : `
No agent runs here, so ${handler.lb ? 'requests' : 'jobs'} wait. Make a key for a machine, and start an agent on it:
  ${slipway} keys create NAME --scope agent --save agent.key
  ${join}
`
}
${system.agent ? 'Try it' : example}:

  ${exampleCurl(system)}

Ctrl-C stops everything; the next npm start continues where this one ended.
`;
}

/** Calls `onEnd` when npm, which started this process, has ended without a signal to it. */
function onParentEnd(onEnd: () => void, parent = process.ppid): void {
  backgroundClock.after(PARENT_PERIOD_MS, () => (process.ppid === parent ? onParentEnd(onEnd, parent) : onEnd()));
}

async function main(): Promise<number> {
  const progress = new Progress(systemClock);
  const options = readOptions(process.argv.slice(2), { root: isInstalled ? callerDir : root, callerDir });
  if (options === 'help') {
    progress.print(helpText());
    return 0;
  }
  const launcher = new Launcher({ options, root, env: process.env, progress });
  let stopping = false;
  const stopRequested = new Promise<void>((resolve) => {
    const request = (): void => {
      if (!stopping) progress.print('\nStopping …');
      stopping = true;
      resolve();
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, request);
    // The starter was killed. Nothing else would ever stop this process.
    process.on('disconnect', request);
    if (process.env.npm_lifecycle_event !== undefined && !process.connected) onParentEnd(request);
  });
  try {
    await Promise.race([
      stopRequested,
      launcher.start().then((system) => {
        progress.print(summary(system, progress.elapsedSeconds()));
        collectWhenIdle({ clock: systemClock });
      }),
    ]);
    await stopRequested;
    return 0;
  } catch (error) {
    const expected = error instanceof UsageError || error instanceof ProcessError;
    if (!stopping) progress.problem(expected ? error.message : String((error as Error).stack ?? error));
    return error instanceof UsageError ? EXIT_USAGE : 1;
  } finally {
    await launcher.stop();
    if (stopping) progress.step('everything has stopped');
  }
}

// Waits for everything that main started. The exit also closes the channel to bootstrap.mjs.
process.exit(
  await main().catch((error: unknown) => {
    process.stderr.write(`\n${error instanceof UsageError ? error.message : String(error)}\n`);
    return EXIT_USAGE;
  }),
);
