/** All commands of the command line. */
// A well-maintained parser without dependencies that also makes the help texts: https://github.com/tj/commander.js.
import { Command, Option } from 'commander';
import { addAgent } from './agent/agent.ts';
import { addAlerts } from './alerts/alerts.ts';
import { addApply } from './apply/apply.ts';
import { addBatches } from './batches/batches.ts';
import type { Cli, GlobalOptions } from './cli.ts';
import { addEnv } from './clients/env.ts';
import { addCompletion } from './completion/completion.ts';
import { addContexts } from './contexts/contexts.ts';
import { addLogin } from './contexts/login.ts';
import { addDoctor } from './doctor/doctor.ts';
import { addDeploy } from './endpoints/deploy.ts';
import { addEndpoints } from './endpoints/endpoints.ts';
import { addErrors } from './endpoints/errors.ts';
import { addTimes } from './endpoints/times.ts';
import { addWhy } from './endpoints/why.ts';
import { formatHelp } from './help.ts';
import { addImport } from './import/import.ts';
import { addInit } from './init/init.ts';
import { addInstall } from './install/install.ts';
import { addJobs } from './jobs/jobs.ts';
import { addManyJobs } from './jobs/many-jobs.ts';
import { addAccounts } from './keys/accounts.ts';
import { addKeys } from './keys/keys.ts';
import { addAuthority } from './machines/authority.ts';
import { addMachines } from './machines/machines.ts';
import { addPools } from './machines/pools.ts';
import { addSecretKey } from './machines/secret-key.ts';
import { addWorkers } from './machines/workers.ts';
import { addModels } from './models/models.ts';
import { addOpen } from './open/open.ts';
import { addBackup } from './parts/backup.ts';
import { addCore } from './parts/core.ts';
import { addEdge } from './parts/edge.ts';
import { addFacade } from './parts/facade.ts';
import { CLI_VERSION } from './parts/installed.ts';
import { addStart } from './parts/start.ts';
import { addVersion } from './parts/version.ts';
import { addPods } from './pods/pods.ts';
import { addRegistryAuths } from './registry-auths/registry-auths.ts';
import { addSecrets } from './secrets/secrets.ts';
import { addTemplates } from './templates/templates.ts';
import { addAudit } from './usage/audit.ts';
import { addUsage } from './usage/usage.ts';
import { addVolumes } from './volumes/volumes.ts';

/** Commands in the order of the help. */
const COMMANDS = [
  addJobs,
  addManyJobs,
  addBatches,
  addDeploy,
  addEndpoints,
  addWhy,
  addTimes,
  addErrors,
  addTemplates,
  addWorkers,
  addMachines,
  addPools,
  addAuthority,
  addSecretKey,
  addModels,
  addCore,
  addFacade,
  addEdge,
  addAgent,
  addStart,
  addInstall,
  addBackup,
  addDoctor,
  addPods,
  addVolumes,
  addRegistryAuths,
  addSecrets,
  addInit,
  addApply,
  addImport,
  addKeys,
  addAccounts,
  addUsage,
  addAudit,
  addAlerts,
  addContexts,
  addLogin,
  addOpen,
  addEnv,
  addCompletion,
  addVersion,
];

/** Longer lines are hard to read. */
const HELP_COLUMNS_MAX = 110;
/** A narrower column of descriptions is not wrapped. */
const HELP_WRAP_MIN = 20;

const HELP = `
Beside a running "npm start" every command works as it stands; elsewhere log in first. Operators' commands take the root key.

Examples:
  $ slipway jobs run --input '{"image":"sample.png"}' --wait
  $ slipway login grpcs://core.example:50051
  $ slipway help jobs run

Exit codes: 0 done; 1 refused, with the reason; 2 wrong usage; 3 core cannot be reached; 4 a job that was waited for did not succeed;
130 ended by Ctrl-C.`;

/** Builds the parser. Errors of usage are thrown, see main.ts. */
export function buildProgram(cli: Cli, write: { out(text: string): void; err(text: string): void }): Command {
  const program = new Command('slipway')
    .description('Runs jobs on Slipway and manages what they run on.')
    .usage('[options] <command>')
    .version(CLI_VERSION, '--version', 'show the version')
    .option('--core <host:port>', 'address of core; grpcs://host:port for TLS')
    .option('--core-ca <digest|file>', "authority of core's certificate: sha256:… or a PEM file")
    .addOption(new Option('--ca-file <file>', 'what --core-ca was called').hideHelp())
    .option('--key <key>', 'API key')
    .option('--local-env <file>', 'facts of a running npm start, default .slipway/local.env')
    .option('--context <name>', 'installation to go to; local: that of npm start')
    .option('--json', 'write one JSON document, for programs')
    .option('--wide', 'write tables in full width, also on a terminal')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help of a command')
    .configureHelp({
      showGlobalOptions: true,
      helpWidth: Math.min(HELP_COLUMNS_MAX, cli.output.terminalColumns),
      minWidthToWrap: HELP_WRAP_MIN,
      formatHelp,
    })
    .configureOutput({ writeOut: write.out, writeErr: write.err, outputError: () => undefined })
    .exitOverride()
    .addHelpText('after', HELP)
    .hook('preAction', () => cli.setOptions(program.opts<GlobalOptions>()));
  for (const add of COMMANDS) add(program, cli);
  return program;
}
