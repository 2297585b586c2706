/**
 * Runs all of Slipway on one machine: starts every process in order, sets things up, and stops everything in reverse
 * order.
 */
import { existsSync } from 'node:fs';
import { extname, join } from 'node:path';
import { CoreServices } from '@slipway/facades/core-client/core-services';
import { systemTransport } from '@slipway/kit/net/channel';
import { delay, systemClock, systemRandom } from '@slipway/kit/time/clock';
import { ActivityTrigger, showActivity } from './activity.ts';
import { by } from './call-by.ts';
import { shownExample } from './example-request.ts';
import type { FolderClaim } from './folder-claim.ts';
import { claimDataDir } from './folder-claim.ts';
import type { Handler } from './handler/handler.ts';
import { prepareHandler } from './handler/handler.ts';
import type { ServedHandler } from './handler/handler-update.ts';
import { updateHandler } from './handler/handler-update.ts';
import { watchHandler } from './handler/handler-watch.ts';
import type { LocalFacts } from './local-env.ts';
import { removeLocalEnv, writeLocalEnv } from './local-env.ts';
import { UsageError } from './options.ts';
import { portProblem } from './ports.ts';
import type { DataDir } from './postgres/data-dir.ts';
import { explainFailure, openDataDir } from './postgres/data-dir.ts';
import { diskWarnings } from './postgres/disk-space.ts';
import { checkDatabase } from './postgres/external-postgres.ts';
import { createCluster, postgresProcess, postgresUrl, stopLeftover } from './postgres/postgres.ts';
import { findPostgres } from './postgres/postgres-program.ts';
import type { LauncherOptions } from './process-plans.ts';
import { agentPlan, corePlan, facadePlan, httpHost, workerUserSetting } from './process-plans.ts';
import { ensureCoreRole } from './processes/core-role.ts';
import { PARTS, PreloadedPrograms } from './processes/preloaded-programs.ts';
import { ProcessLog } from './processes/process-log.ts';
import type { ProcessPlan } from './processes/supervised-process.ts';
import { SupervisedProcess } from './processes/supervised-process.ts';
import { WorkerCrashes } from './processes/worker-crashes.ts';
import { waitForWorker } from './readiness.ts';
import { plain, Repeats } from './repeats.ts';
import { restoreBackup } from './restore-backup.ts';
import type { Secrets } from './secrets.ts';
import { loadSecrets, saveSecrets } from './secrets.ts';
import { ensureEndpoint, ensureKeys, gpuNames } from './setup.ts';

/** Ending of our own modules: `.ts`, and `.js` in the published package. */
const ENDING = extname(import.meta.filename);
const LAUNCHER_FILE = `dev/start${ENDING}`;
const EXAMPLE_HANDLER = 'examples/ocr/handler.js';
const EXAMPLE_LB_HANDLER = 'examples/chat-lb/handler.py';
/** Longest wait for the processes of a killed run to release the port, in milliseconds. */
const PORT_WAIT_MS = 5_000;
const POLL_MS = 100;
/** Longest wait for the agent, in milliseconds. After it the endpoint is made without knowing the agent's GPUs. */
const AGENT_JOIN_MS_MAX = 5_000;

/** Facts about the running system that the user is shown at the end. */
export interface LocalSystem extends LocalFacts {
  handler: Handler;
  agent: boolean;
  data: DataDir;
}

export class Launcher {
  readonly #given: LauncherOptions;
  readonly #stopping = new AbortController();
  /** Processes in the order of starting. The processes of one entry are independent of each other. */
  readonly #started: SupervisedProcess<unknown>[][] = [];
  /** Data folder of the embedded PostgreSQL. Empty: another one is used. */
  #databaseDir = '';
  #data: DataDir | undefined;
  #claim: FolderClaim | undefined;
  #preloaded: PreloadedPrograms | undefined;
  #core: CoreServices | undefined;
  #starting: Promise<unknown> = Promise.resolve();
  #watching: Promise<unknown> = Promise.resolve();
  #activity: Promise<unknown> = Promise.resolve();
  readonly #crashes: WorkerCrashes;
  readonly #ends = new Repeats();
  readonly #news = new ActivityTrigger();

  constructor(given: LauncherOptions) {
    this.#given = given;
    this.#crashes = new WorkerCrashes(given.progress, systemClock.nowMs());
  }

  /** Starts everything. Resolves when a worker can take a job. Throws UsageError for problems that the user can fix. */
  start(): Promise<LocalSystem> {
    const system = this.#start().catch((error: unknown) => {
      throw explainFailure(this.#given.options.dataDir, error);
    });
    this.#starting = system.catch(() => undefined);
    return system;
  }

  /** Stops everything in order and leaves no process behind. Safe to call at any time and more than once. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#claim?.stopping();
    if (this.#data) removeLocalEnv(this.#data.localEnvFile);
    this.#core?.close();
    this.#preloaded?.stop();
    for (const group of this.#started.toReversed()) await Promise.all(group.map((process) => process.stop()));
    await this.#starting;
    await Promise.all([this.#watching, this.#activity]);
    this.#claim?.release();
  }

  async #start(): Promise<LocalSystem> {
    const { options, root, progress } = this.#given;
    const data = openDataDir(options.dataDir);
    const deps = { report: (line: string) => progress.step(line), signal: this.#stopping.signal, clock: systemClock };
    this.#claim = await claimDataDir(data, LAUNCHER_FILE, deps);
    this.#data = data;
    await this.#claim.leftoversEnded(deps);
    await this.#requirePort(this.#claim.earlierWasKilled ? PORT_WAIT_MS : 0);
    removeLocalEnv(data.localEnvFile);
    const secrets = loadSecrets(data);
    const served = {
      file: options.handlerFile ?? exampleFile(root, options.lb ? EXAMPLE_LB_HANDLER : EXAMPLE_HANDLER),
      lb: options.lb,
    };
    const prepare = () => prepareHandler(served, data.venvDir, deps);
    const handler = await prepare();
    if (options.databaseUrl !== undefined) await checkDatabase(options.databaseUrl);
    const parts = PARTS.filter(({ name }) => name !== 'agent' || options.agent);
    this.#preloaded = new PreloadedPrograms(parts, { root, env: this.#given.env, ...data });
    const databaseUrl = options.databaseUrl ?? (await this.#startPostgres(data, secrets));
    if (options.restoreFile !== undefined)
      await restoreBackup({ file: options.restoreFile, databaseUrl, data, secrets, ...this.#given, ...deps });
    const coreAddress = await this.#startCore(databaseUrl, data, secrets);
    const core = new CoreServices({
      addresses: [coreAddress],
      transport: systemTransport,
      clock: systemClock,
      random: systemRandom,
    });
    this.#core = core;
    if (await ensureKeys(core, secrets, data.agentDir)) saveSecrets(data, secrets);
    const workerUser = await workerUserSetting(this.#given, handler, data);
    const url = await this.#startFrontAndAgent(coreAddress, data, secrets, workerUser);
    const gpus = await this.#gpusFor(core, secrets.rootKey);
    const endpointId = await ensureEndpoint(core, secrets.apiKey!, handler, gpus);
    const example = await shownExample(core, secrets.apiKey!, endpointId, handler);
    const facts = {
      url,
      apiKey: secrets.apiKey!,
      endpointId,
      coreAddress,
      exampleInput: handler.lb ? undefined : example.body,
    };
    await this.#waitForWorker(core, facts, handler);
    if (this.#stopping.signal.aborted) throw new UsageError('Stopped before it was ready.');
    for (const warning of diskWarnings([data.dir, data.postgresDir])) progress.problem(warning);
    // Started before anybody learns where to send jobs, so that every job that ends is reported.
    if (!options.quiet)
      this.#activity = (
        await showActivity({ core, ...facts, news: this.#news, crashes: this.#crashes, ...deps, step: deps.report })
      ).over;
    writeLocalEnv(data.localEnvFile, facts);
    if (options.handlerFile !== undefined) {
      this.#watch({
        core,
        ...facts,
        file: options.handlerFile,
        report: deps.report,
        // Failures caused by the stop itself are not reported.
        problem: (text) => {
          if (!this.#stopping.signal.aborted) progress.problem(text);
        },
        prepareAnew: async () => {
          await ensureEndpoint(core, facts.apiKey, await prepare(), gpus);
        },
      });
    }
    return { ...facts, handler: { ...handler, example }, agent: options.agent, data };
  }

  async #requirePort(waitMs: number): Promise<void> {
    const until = systemClock.monotonicMs() + waitMs;
    for (;;) {
      const problem = await portProblem(this.#given.options.port, httpHost(this.#given.env));
      if (problem === undefined) return;
      if (systemClock.monotonicMs() >= until) throw new UsageError(problem);
      await delay(systemClock, POLL_MS, this.#stopping.signal);
    }
  }

  async #startPostgres(data: DataDir, secrets: Secrets): Promise<string> {
    const { progress } = this.#given;
    const location = await findPostgres(data.postgresDir);
    if (location.note) progress.step(location.note);
    this.#databaseDir = location.dataDir;
    const log = new ProcessLog(join(data.logDir, 'postgres.log'));
    const leftover = await stopLeftover(location.dataDir, systemClock);
    if (leftover !== undefined) progress.step(`stopped PostgreSQL of an earlier run (process ${leftover})`);
    const isNew = !existsSync(join(location.dataDir, 'PG_VERSION'));
    await createCluster(location, secrets.databasePassword, log);
    const [port] = await this.#run([postgresProcess(location, log, systemClock)]);
    progress.step(`PostgreSQL is up on port ${port}${isNew ? ', with a new database' : ''}`);
    return ensureCoreRole(postgresUrl(port!, secrets.databasePassword));
  }

  async #startCore(databaseUrl: string, data: DataDir, secrets: Secrets): Promise<string> {
    const database = { url: databaseUrl, dataDir: this.#databaseDir };
    const [address] = await this.#run([
      await corePlan(
        { ...this.#given, preloaded: this.#preloaded, onActivity: () => this.#news.give() },
        database,
        data,
        secrets,
      ),
    ]);
    this.#given.progress.step(`core is up on ${address}`);
    return address!;
  }

  async #startFrontAndAgent(coreAddress: string, data: DataDir, secrets: Secrets, workerUser: string): Promise<string> {
    const { options, progress } = this.#given;
    const given = { ...this.#given, preloaded: this.#preloaded };
    const plans = [facadePlan(given, coreAddress, data)];
    if (options.agent) plans.push(agentPlan(given, coreAddress, data, secrets, workerUser));
    const [ready] = await this.#run(plans);
    const url = ready?.url ?? `http://127.0.0.1:${options.port}`;
    progress.step(`the HTTP facade is up on ${url}${options.agent ? ', the agent has started' : ''}`);
    return url;
  }

  async #gpusFor(core: CoreServices, key: string): Promise<string[]> {
    // The example reads images on the CPU. A user's handler gets the GPUs of this machine, if there are any.
    if (this.#given.options.handlerFile === undefined || !this.#given.options.agent) return [];
    const until = systemClock.monotonicMs() + AGENT_JOIN_MS_MAX;
    while (systemClock.monotonicMs() < until && !this.#stopping.signal.aborted) {
      const { machines } = await core.machines.call((client) => client.listMachines, {}, by(key));
      if (machines.some((machine) => machine.connected)) return gpuNames(core, key);
      await delay(systemClock, POLL_MS, this.#stopping.signal);
    }
    return [];
  }

  async #waitForWorker(core: CoreServices, facts: LocalFacts, handler: Handler): Promise<void> {
    const { options, progress } = this.#given;
    if (!options.agent) return;
    progress.step(`waiting for a worker of ${handler.name}`);
    await waitForWorker({
      ...facts,
      lb: handler.lb,
      core,
      clock: systemClock,
      signal: this.#stopping.signal,
      onWorkers: (workers, ended) => this.#crashes.update(handler.name, workers, ended),
    });
  }

  #reportEnd(name: string, how: string): void {
    const times = this.#ends.count(`${name} ${how}`);
    const again = times === 1 ? '' : ` again, ${times} times in all`;
    if (times !== undefined) this.#given.progress.step(`${name} ended${again} (${how}); starting it again`);
  }

  #watch(served: ServedHandler): void {
    const onChanged = (files: readonly string[]): Promise<void> => updateHandler(served, files);
    this.#watching = watchHandler({
      handler: served.file,
      clock: systemClock,
      signal: this.#stopping.signal,
      onChanged,
    }).catch((error: Error) => served.problem(`${served.file} is no longer watched: ${error.message}`));
  }

  /** Starts processes in parallel and keeps them running. */
  async #run<Ready>(plans: ProcessPlan<Ready>[]): Promise<Ready[]> {
    const { progress } = this.#given;
    this.#stopping.signal.throwIfAborted();
    const group = plans.map(
      (plan) =>
        new SupervisedProcess(plan, {
          clock: systemClock,
          random: systemRandom,
          onSpawned: (name, pid) => this.#claim?.note(name, pid),
          onEnded: (name, how) => this.#reportEnd(name, how),
          onSlowStart: (name, seconds, line) =>
            progress.step(`still waiting for ${name} after ${seconds} s${line === '' ? '' : `: ${plain(line)}`}`),
          onRestarted: (name) => progress.step(`${name} is up again`),
        }),
    );
    this.#started.push(group);
    return Promise.all(group.map((process) => process.start()));
  }
}

/** Returns the path of an example. The published package carries the examples inside itself. */
function exampleFile(root: string, file: string): string {
  const inside = join(import.meta.dirname, file);
  return existsSync(inside) ? inside : join(root, file);
}
