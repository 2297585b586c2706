/**
 * The storage of core, behind interfaces: one store for each kind of row. Nothing outside this folder holds a
 * connection or contains SQL. A call of a store is atomic: one statement or one transaction. A rule that must see the
 * rows before they change is passed as a function.
 */

import type { Sealer } from '@slipway/kit/host/seal';
import type { Service } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { STANDBY_SECONDS } from '../domain/machines/worker.ts';
import { AccountStore } from './accounts/account-store.ts';
import { ApiKeyStore } from './accounts/api-key-store.ts';
import { AuditStore } from './accounts/audit-store.ts';
import { AuthorityStore } from './accounts/authority-store.ts';
import { EncryptionBackfillStore } from './accounts/encryption-backfill-store.ts';
import { InstallationStore } from './accounts/installation-store.ts';
import { SecretKeyStore } from './accounts/secret-key-store.ts';
import { BatchReaperStore } from './batches/batch-reaper-store.ts';
import { BatchStore } from './batches/batch-store.ts';
import { BatchWorkStore } from './batches/batch-work-store.ts';
import { DraftStore } from './batches/draft-store.ts';
import { FileStore } from './batches/file-store.ts';
import { AttemptStore } from './jobs/attempt-store.ts';
import { ChunkStore } from './jobs/chunk-store.ts';
import { ClaimStore } from './jobs/claim-store.ts';
import { CountStore } from './jobs/count-store.ts';
import { DeadlineStore } from './jobs/deadline-store.ts';
import { DeletionStore } from './jobs/deletion-store.ts';
import { JobStore } from './jobs/job-store.ts';
import { OutcomeStore } from './jobs/outcome-store.ts';
import { RunningJobs } from './jobs/running-jobs.ts';
import { SubmissionStore } from './jobs/submission-store.ts';
import { CachedModelStore } from './machines/cached-model-store.ts';
import { DrainStore } from './machines/drain-store.ts';
import { EdgeStore } from './machines/edge-store.ts';
import { EphemeralStore } from './machines/ephemeral-store.ts';
import { GpuHealthStore } from './machines/gpu-health-store.ts';
import { ImageStore } from './machines/image-store.ts';
import { JoinTokenStore } from './machines/join-token-store.ts';
import { MachineStore } from './machines/machine-store.ts';
import { requireOwnSessions } from './machines/own-session.ts';
import { PoolStore } from './machines/pool-store.ts';
import { WorkerStore } from './machines/worker-store.ts';
import { PodReportStore } from './pods/pod-report-store.ts';
import { PodStore } from './pods/pod-store.ts';
import { PodViewStore } from './pods/pod-view-store.ts';
import { AlertStore } from './reports/alert-store.ts';
import { CoreReleaseStore } from './reports/core-release-store.ts';
import { ExplainStore } from './reports/explain-store.ts';
import { JobSearchStore } from './reports/job-search-store.ts';
import { MachineViewStore } from './reports/machine-view-store.ts';
import { MetricStore } from './reports/metric-store.ts';
import { PriceStore } from './reports/price-store.ts';
import { ProblemStore } from './reports/problem-store.ts';
import { ReplicaStore } from './reports/replica-store.ts';
import { UsageStore } from './reports/usage-store.ts';
import { CatalogStore } from './resources/catalog-store.ts';
import { CreationStore } from './resources/creation-store.ts';
import { EndpointStore } from './resources/endpoint-store.ts';
import { ModelStore } from './resources/model-store.ts';
import { RegistryAuthStore } from './resources/registry-auth-store.ts';
import { ReleaseStore } from './resources/release-store.ts';
import { SecretStore } from './resources/secret-store.ts';
import { TemplateStore } from './resources/template-store.ts';
import { VolumeStore } from './resources/volume-store.ts';
import { LoadStore } from './scaling/load-store.ts';
import { RequestStore } from './scaling/request-store.ts';
import { ScaleStore } from './scaling/scale-store.ts';
import { SuspensionStore } from './scaling/suspension-store.ts';
import { TrafficStore } from './scaling/traffic-store.ts';
import type { Database, DatabaseOptions } from './sql/database.ts';
import { openDatabase } from './sql/database.ts';
import { asksForPrimary } from './sql/database-hosts.ts';
import { LostAnswers } from './sql/lost-answers.ts';
import type { MigratingRelease } from './sql/migrate.ts';
import { migrate } from './sql/migrate.ts';
import type { NoticeChannelOptions } from './sql/notice-channel.ts';
import { NoticeChannel } from './sql/notice-channel.ts';
import { PrimaryWatch } from './sql/primary-watch.ts';
import type { ServerAnswers } from './sql/server-answers.ts';
import { WebhookResultStore } from './webhooks/webhook-result-store.ts';
import { WebhookStore } from './webhooks/webhook-store.ts';

type Classes = ReturnType<typeof makeStores>;

/** All stores by name. A use case declares its own: `Pick<Stores, 'jobs'>`. */
export type Stores = { readonly [Name in keyof Classes]: Pick<Classes[Name], keyof Classes[Name]> };

/** An open database, as everything outside this folder sees it. */
export interface Storage {
  readonly stores: Stores;
  /**
   * Migrates the schema and claims the database for the secret key. Throws PoolerError, NewerDatabaseError or
   * WrongSecretKeyError.
   */
  prepare(): Promise<void>;
  /** Measures how fast the database server answers. */
  readonly answers: Pick<ServerAnswers, 'limit' | 'listen' | 'missed'>;
  /** Finds the new primary after a failover, if the URL asks for a primary, and a clock is handed in. */
  readonly primaryWatch: Service | undefined;
  /** Resolves while the database answers. */
  ping(): Promise<void>;
  /** Opens a channel for short messages between the replicas on this database. */
  openChannel(
    options: Omit<NoticeChannelOptions, 'url' | 'password' | 'hosts' | 'onSilence' | 'answers' | 'lostAnswers'>,
  ): NoticeChannel;
  /** Ends all connections after the statements in flight, at the latest after 5 s. */
  close(): Promise<void>;
}

/** Settings of stores. */
interface StoreOptions {
  /** SLIPWAY_STANDBY_SECONDS. Default STANDBY_SECONDS. */
  standbySeconds?: number;
}

interface StorageOptions {
  release?: MigratingRelease;
  clock?: Clock;
  random?: Random;
}

/** Stores over an open database. */
export function makeStores(database: Database, sealer: Sealer, { standbySeconds }: StoreOptions = {}) {
  const running = new RunningJobs(database);
  return {
    accounts: new AccountStore(database),
    keys: new ApiKeyStore(database),
    audit: new AuditStore(database),
    catalog: new CatalogStore(database),
    creations: new CreationStore(database, sealer),
    endpoints: new EndpointStore(database, sealer),
    templates: new TemplateStore(database, sealer),
    volumes: new VolumeStore(database),
    registryAuths: new RegistryAuthStore(database),
    secrets: new SecretStore(database, sealer),
    machines: new MachineStore(database),
    pools: new PoolStore(database),
    workers: new WorkerStore(database, sealer),
    scales: new ScaleStore(database, running, standbySeconds === STANDBY_SECONDS ? undefined : standbySeconds),
    suspensions: new SuspensionStore(database),
    explains: new ExplainStore(database, running),
    traffic: new TrafficStore(database),
    loads: new LoadStore(database, running),
    requests: new RequestStore(database),
    images: new ImageStore(database),
    cachedModels: new CachedModelStore(database),
    pods: new PodStore(database, sealer, running),
    podViews: new PodViewStore(database, sealer),
    podReports: new PodReportStore(database, sealer),
    prices: new PriceStore(database),
    coreReleases: new CoreReleaseStore(database),
    replicas: new ReplicaStore(database),
    problems: new ProblemStore(database),
    alerts: new AlertStore(database),
    usage: new UsageStore(database),
    jobs: new JobStore(database),
    jobSearch: new JobSearchStore(database),
    submissions: new SubmissionStore(database),
    claims: new ClaimStore(database),
    attempts: new AttemptStore(database),
    outcomes: new OutcomeStore(database),
    chunks: new ChunkStore(database),
    counts: new CountStore(database, running),
    deadlines: new DeadlineStore(database),
    drains: new DrainStore(database),
    ephemeral: new EphemeralStore(database),
    gpuHealth: new GpuHealthStore(database),
    metrics: new MetricStore(database, running),
    running,
    machineViews: new MachineViewStore(database),
    deletions: new DeletionStore(database),
    webhooks: new WebhookStore(database),
    webhookResults: new WebhookResultStore(database),
    edge: new EdgeStore(database),
    installation: new InstallationStore(database, sealer),
    secretKeys: new SecretKeyStore(database, sealer),
    authorities: new AuthorityStore(database, sealer),
    joinTokens: new JoinTokenStore(database),
    encryptionBackfill: new EncryptionBackfillStore(database, sealer),
    releases: new ReleaseStore(database),
    models: new ModelStore(database, sealer),
    files: new FileStore(database),
    batches: new BatchStore(database),
    batchWork: new BatchWorkStore(database),
    drafts: new DraftStore(database),
    batchReaper: new BatchReaperStore(database),
  };
}

/**
 * Opens the database at a postgres:// URL. Connects on first use, so the first statement fails if the database is down.
 */
export function openStorage(
  url: string,
  sealer: Sealer,
  logger: Logger,
  options: Omit<DatabaseOptions, 'logger'> & StoreOptions & StorageOptions = {},
): Storage {
  const database = openDatabase(url, { ...options, hasTwoKeys: sealer.fingerprints().length > 1, logger });
  const { answers } = database;
  const { clock, random } = options;
  const isWatched = clock && random && asksForPrimary(url);
  return {
    primaryWatch: isWatched ? new PrimaryWatch({ ...database, clock, random, logger }) : undefined,
    stores: makeStores(database, sealer, options),
    answers,
    prepare: async () => {
      await requireOwnSessions(database, logger);
      await migrate(database, logger, options.release);
      await new InstallationStore(database, sealer).claimSecretKey();
    },
    ping: async () => {
      await database.sql`SELECT 1`;
    },
    openChannel: (channel) =>
      new NoticeChannel({
        url,
        password: database.password,
        hosts: database.hosts,
        onSilence: () => database.cut(),
        answers,
        lostAnswers: new LostAnswers(() => database.connections()),
        ...channel,
      }),
    close: () => database.close(),
  };
}
