/**
 * All that core keeps, behind interfaces: one store for each kind of row. Nothing outside this folder holds a
 * connection or says SQL. One call of a store is what happens together, one statement or one transaction; a rule that
 * must see the rows before they change is handed in as a function.
 */
import type { Logger } from '../runtime/logger.ts';
import type { Sealer } from '../runtime/seal.ts';
import { AccountStore } from './account-store.ts';
import { ApiKeyStore } from './api-key-store.ts';
import { AttemptStore } from './attempt-store.ts';
import { AuditStore } from './audit-store.ts';
import { CatalogStore } from './catalog-store.ts';
import { ChunkStore } from './chunk-store.ts';
import { ClaimStore } from './claim-store.ts';
import { CountStore } from './count-store.ts';
import type { Database, DatabaseOptions } from './database.ts';
import { openDatabase } from './database.ts';
import { DeadlineStore } from './deadline-store.ts';
import { DeletionStore } from './deletion-store.ts';
import { EdgeStore } from './edge-store.ts';
import { EncryptionBackfillStore } from './encryption-backfill-store.ts';
import { EndpointStore } from './endpoint-store.ts';
import { ExplainStore } from './explain-store.ts';
import { ImageStore } from './image-store.ts';
import { InstallationStore } from './installation-store.ts';
import { JobStore } from './job-store.ts';
import { LostAnswers } from './lost-answers.ts';
import { MachineStore } from './machine-store.ts';
import { MachineViewStore } from './machine-view-store.ts';
import { MetricStore } from './metric-store.ts';
import { migrate } from './migrate.ts';
import type { NoticeChannelOptions } from './notice-channel.ts';
import { NoticeChannel } from './notice-channel.ts';
import { OutcomeStore } from './outcome-store.ts';
import { requireOwnSessions } from './own-session.ts';
import { PodReportStore } from './pod-report-store.ts';
import { PodStore } from './pod-store.ts';
import { PodViewStore } from './pod-view-store.ts';
import { PriceStore } from './price-store.ts';
import { ProblemStore } from './problem-store.ts';
import { RegistryAuthStore } from './registry-auth-store.ts';
import { ReleaseStore } from './release-store.ts';
import { RunningJobs } from './running-jobs.ts';
import { ScaleStore } from './scale-store.ts';
import { SubmissionStore } from './submission-store.ts';
import { TemplateStore } from './template-store.ts';
import { TrafficStore } from './traffic-store.ts';
import { UsageStore } from './usage-store.ts';
import { VolumeStore } from './volume-store.ts';
import { WebhookResultStore } from './webhook-result-store.ts';
import { WebhookStore } from './webhook-store.ts';
import { WorkerStore } from './worker-store.ts';

type Classes = ReturnType<typeof makeStores>;

/** The stores by what they offer. A use case names those it needs: `Pick<Stores, 'jobs'>`. */
export type Stores = { readonly [Name in keyof Classes]: Pick<Classes[Name], keyof Classes[Name]> };

/** An open database, as everything outside this folder sees it. */
export interface Storage {
  readonly stores: Stores;
  /**
   * Brings the schema up to date and claims the database for the secret key. PoolerError, NewerDatabaseError,
   * WrongSecretKeyError.
   */
  prepare(): Promise<void>;
  /** Resolves while the database answers. */
  ping(): Promise<void>;
  /** Short messages between the replicas on this database. */
  openChannel(options: Omit<NoticeChannelOptions, 'url' | 'onSilence' | 'lostAnswers'>): NoticeChannel;
  /** Ends all connections after the statements in flight, at the latest after 5 s. */
  close(): Promise<void>;
}

/** Stores over an open database. */
export function makeStores(database: Database, sealer: Sealer) {
  const running = new RunningJobs(database);
  return {
    accounts: new AccountStore(database),
    keys: new ApiKeyStore(database),
    audit: new AuditStore(database),
    catalog: new CatalogStore(database),
    endpoints: new EndpointStore(database, sealer),
    templates: new TemplateStore(database, sealer),
    volumes: new VolumeStore(database),
    registryAuths: new RegistryAuthStore(database),
    machines: new MachineStore(database),
    workers: new WorkerStore(database, sealer),
    scales: new ScaleStore(database, running),
    explains: new ExplainStore(database, running),
    traffic: new TrafficStore(database),
    images: new ImageStore(database),
    pods: new PodStore(database, sealer),
    podViews: new PodViewStore(database, sealer),
    podReports: new PodReportStore(database, sealer),
    prices: new PriceStore(database),
    problems: new ProblemStore(database),
    usage: new UsageStore(database),
    jobs: new JobStore(database),
    submissions: new SubmissionStore(database),
    claims: new ClaimStore(database),
    attempts: new AttemptStore(database),
    outcomes: new OutcomeStore(database),
    chunks: new ChunkStore(database),
    counts: new CountStore(database, running),
    deadlines: new DeadlineStore(database),
    metrics: new MetricStore(database, running),
    running,
    machineViews: new MachineViewStore(database),
    deletions: new DeletionStore(database),
    webhooks: new WebhookStore(database),
    webhookResults: new WebhookResultStore(database),
    edge: new EdgeStore(database),
    encryptionBackfill: new EncryptionBackfillStore(database, sealer),
    releases: new ReleaseStore(database),
  };
}

/**
 * Opens the database at a postgres:// URL. Connects on first use, so a database that is down is met by the first
 * statement.
 */
export function openStorage(
  url: string,
  sealer: Sealer,
  logger: Logger,
  options: Omit<DatabaseOptions, 'logger'> = {},
): Storage {
  const database = openDatabase(url, { ...options, logger });
  return {
    stores: makeStores(database, sealer),
    prepare: async () => {
      await requireOwnSessions(url, logger);
      await migrate(database, logger);
      await new InstallationStore(database, sealer).claimSecretKey();
    },
    ping: async () => {
      await database.sql`SELECT 1`;
    },
    openChannel: (channel) =>
      new NoticeChannel({
        url,
        onSilence: () => database.cut(),
        lostAnswers: new LostAnswers(() => database.connections()),
        ...channel,
      }),
    close: () => database.close(),
  };
}
