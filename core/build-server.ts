/** Builds the gRPC side of a replica: every service with its handlers, access checks and rate limits. */

import { LargeJobService } from '@slipway/kit/net/large-message';
import { PieceAgentService } from '@slipway/kit/net/piece-messages';
import { AccessLogServiceService } from '@slipway/proto/gen/envoy/service/accesslog/v3/als';
import { AggregatedDiscoveryServiceService } from '@slipway/proto/gen/envoy/service/discovery/v3/discovery';
import { LoadReportingServiceService } from '@slipway/proto/gen/envoy/service/load_stats/v3/lrs';
import { AccessServiceService, KeyServiceService } from '@slipway/proto/gen/slipway/v1/access_service';
import type { RegistryCredentials } from '@slipway/proto/gen/slipway/v1/agent_service';
import { AlertServiceService } from '@slipway/proto/gen/slipway/v1/alert_service';
import { AuditServiceService } from '@slipway/proto/gen/slipway/v1/audit_service';
import { BatchServiceService } from '@slipway/proto/gen/slipway/v1/batch_service';
import { CatalogServiceService } from '@slipway/proto/gen/slipway/v1/catalog_service';
import { EdgeServiceService } from '@slipway/proto/gen/slipway/v1/edge_service';
import { EndpointServiceService } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { FileServiceService } from '@slipway/proto/gen/slipway/v1/file_service';
import { JoinServiceService } from '@slipway/proto/gen/slipway/v1/join_service';
import { MachineServiceService } from '@slipway/proto/gen/slipway/v1/machine_service';
import { ModelServiceService } from '@slipway/proto/gen/slipway/v1/model_service';
import { PartServiceService } from '@slipway/proto/gen/slipway/v1/part_service';
import { PodServiceService } from '@slipway/proto/gen/slipway/v1/pod_service';
import { ProblemServiceService } from '@slipway/proto/gen/slipway/v1/problem_service';
import { RegistryAuthServiceService } from '@slipway/proto/gen/slipway/v1/registry_auth_service';
import { SecretServiceService } from '@slipway/proto/gen/slipway/v1/secret_service';
import { TemplateServiceService } from '@slipway/proto/gen/slipway/v1/template_service';
import { UsageServiceService } from '@slipway/proto/gen/slipway/v1/usage_service';
import { VolumeServiceService } from '@slipway/proto/gen/slipway/v1/volume_service';
import { StartedWorkers } from './access/started-workers.ts';
import type { CoreParts } from './build-parts.ts';
import type { CoreConfig } from './config.ts';
import type { Dependencies } from './core-dependencies.ts';
import { sealRegistryCredentials } from './dispatch/desired/registry-credentials.ts';
import { EXPLANATIONS_MAX, MANAGEMENT_CALLS_MAX } from './domain/accounts/call-limits.ts';
import { secretValueIdentity } from './domain/settings/sealed-identity.ts';
import { Joining } from './joining/join-machine.ts';
import { CORE_VERSION } from './reports/core-version.ts';
import { RefusedAttempts } from './reports/refused-attempts.ts';
import { SeenParts } from './reports/seen-parts.ts';
import { UsageQueue } from './reports/usage-queue.ts';
import { AccessChecks } from './rpc/accounts/access-checks.ts';
import { accessHandlers } from './rpc/accounts/access-handlers.ts';
import { auditHandlers } from './rpc/accounts/audit-handlers.ts';
import { keyHandlers } from './rpc/accounts/key-handlers.ts';
import { createControlPlane } from './rpc/ads/ads-handlers.ts';
import { batchHandlers } from './rpc/batches/batch-handlers.ts';
import { fileHandlers } from './rpc/batches/file-handlers.ts';
import { createJobHandlers } from './rpc/jobs/job-handlers.ts';
import type { LogParts } from './rpc/jobs/read-log.ts';
import { agentHandlers } from './rpc/machines/agent-handlers.ts';
import { createEdgeHandlers } from './rpc/machines/edge-handlers.ts';
import { joinHandlers } from './rpc/machines/join-handlers.ts';
import { machineHandlers } from './rpc/machines/machine-handlers.ts';
import { podHandlers } from './rpc/pods/pod-handlers.ts';
import { alertHandlers } from './rpc/reports/alert-handlers.ts';
import { partHandlers } from './rpc/reports/part-handlers.ts';
import { problemHandlers } from './rpc/reports/problem-handlers.ts';
import { usageHandlers } from './rpc/reports/usage-handlers.ts';
import { catalogHandlers } from './rpc/resources/catalog-handlers.ts';
import { endpointHandlers } from './rpc/resources/endpoint-handlers.ts';
import { modelHandlers } from './rpc/resources/model-handlers.ts';
import { registryAuthHandlers } from './rpc/resources/registry-auth-handlers.ts';
import { secretHandlers } from './rpc/resources/secret-handlers.ts';
import { templateHandlers } from './rpc/resources/template-handlers.ts';
import { volumeHandlers } from './rpc/resources/volume-handlers.ts';
import { CallRate } from './rpc/server/call-rate.ts';
import type { Health } from './rpc/server/health.ts';
import { requestInterceptor } from './rpc/server/interceptors.ts';
import { mayChange } from './rpc/server/may-change.ts';
import { PageBudget } from './rpc/server/page-budget.ts';
import type { ListParts } from './rpc/server/paging.ts';
import { recordingRefusals } from './rpc/server/record-refusals.ts';
import { addReflection } from './rpc/server/reflection.ts';
import { RpcServer } from './rpc/server/server.ts';

/** Returns what is called at the end of each rpc: it counts the call, and ends the rest of loops. */
function callListener(meter: CoreParts['meter'], activity: Dependencies['activity']): CoreParts['meter']['onCall'] {
  return (path, code, tookMs) => {
    meter.onCall(path, code, tookMs);
    // Some changes have no event, for example a new quota. A failed call may be committed, too.
    if (mayChange(path)) activity.mark();
  };
}

/** Builds the gRPC server with all services. */
export function buildServer(parts: CoreParts, health: Health, config: CoreConfig, dependencies: Dependencies) {
  const { activity, clock, random, transport, logger } = dependencies;
  const { stores, engine, dispatch, context, access } = parts;
  const edge = createEdgeHandlers({
    access,
    rejections: parts.rejections,
    edge: stores.edge,
    ...parts.edge,
    edgeKeys: config.edgeKeys,
    sealer: parts.sealer,
    onResent: parts.meter.onBackendsResent,
    ...dependencies,
  });
  const controlPlane = createControlPlane({ ...parts.edge, edgeKeys: config.edgeKeys, clock, random, logger });
  const seenParts = new SeenParts({ coreVersion: CORE_VERSION, clock, logger });
  const refusals = new RefusedAttempts({ audit: stores.audit, clock, logger });
  const recording = { access, refusals };
  const shared: SharedParts = {
    ...parts,
    seenParts,
    explainRate: new CallRate({ callsMax: EXPLANATIONS_MAX, access, clock, logger }),
    rate: new CallRate({ callsMax: MANAGEMENT_CALLS_MAX, access, clock, logger }),
    logs: {
      machines: context.machines,
      logs: dispatch.logs,
      transport,
      peerTls: () => parts.own.certificates.peers,
      clock,
    },
    checks: new AccessChecks({ access, refusals, startedWorkers: new StartedWorkers(stores.workers, clock), clock }),
    lists: { budget: new PageBudget(parts.meter.engine.budgets), clock, logger },
    onKeyChanged: (keyId) => context.onKeysChanged([keyId]),
  };
  const jobCalls = {
    calls: engine.calls,
    explains: { ...context, rate: shared.explainRate },
    logs: shared.logs,
    access,
    checks: shared.checks,
    audit: stores.audit,
    tracing: parts.tracing,
  };
  const jobs = createJobHandlers({ ...jobCalls, lists: shared.lists, health, clock, logger });
  const server = new RpcServer({
    listen: config.listen,
    tls: () => parts.own.certificates.server,
    transport,
    clock,
    logger,
    interceptors: [
      requestInterceptor({
        ...dependencies,
        databaseAway: () => health.databaseAway,
        onCall: callListener(parts.meter, activity),
        onPart: (part) => seenParts.onCall(part),
      }),
    ],
    extend: [(grpc) => health.addTo(grpc), addReflection],
    services: [
      recordingRefusals([LargeJobService, jobs.handlers], recording, BULK_CALLS),
      [EdgeServiceService, edge.handlers],
      [AggregatedDiscoveryServiceService, controlPlane.discovery],
      [LoadReportingServiceService, controlPlane.loadReports],
      [AccessLogServiceService, controlPlane.accessLogs],
      ...managementServices(shared, dependencies, config).map((service) => recordingRefusals(service, recording)),
      [PieceAgentService, agentService(shared, logger)],
    ],
  });
  return { server, jobCalls: jobs.service, edgeStreams: edge.service, envoyStreams: controlPlane.service, refusals };
}

/** Calls of jobs whose refusals are recorded: calls that change many jobs. */
const BULK_CALLS = ['cancelJobs', 'retryJobs', 'purgeQueue'];

/** Parts that the services share. */
interface SharedParts extends CoreParts {
  seenParts: SeenParts;
  explainRate: CallRate;
  /** Rate limit of management calls. */
  rate: CallRate;
  logs: LogParts;
  checks: AccessChecks;
  lists: ListParts;
  onKeyChanged(keyId: string): void;
}

/** Builds the services whose refused calls are recorded. */
function managementServices(shared: SharedParts, dependencies: Dependencies, config: CoreConfig): Services {
  return [
    ...accountServices(shared, dependencies),
    ...resourceServices(shared, dependencies),
    ...operatorServices(shared, dependencies, config),
  ];
}

type Services = ConstructorParameters<typeof RpcServer>[0]['services'];

/** Builds the services of accounts: access, keys, audit trail and usage. */
function accountServices(
  { stores, access, checks, rate, lists, meter, onKeyChanged }: SharedParts,
  { clock, random, logger }: Dependencies,
): Services {
  const usage = new UsageQueue(stores, clock, meter.engine.batches);
  return [
    [AccessServiceService, accessHandlers({ access, accounts: stores.accounts, checks, random, logger })],
    [KeyServiceService, rate.limit(keyHandlers(access, { ...stores, random }, onKeyChanged, lists))],
    [AuditServiceService, rate.limit(auditHandlers(access, stores.audit, logger))],
    [UsageServiceService, rate.limit(usageHandlers(access, { ...stores, usage, clock }, logger))],
  ];
}

/** Builds the services of what users deploy: endpoints, templates, volumes, credentials and pods. */
function resourceServices(
  { stores, sealer, context, batches, access, rate, explainRate, logs, lists }: SharedParts,
  { random, logger }: Dependencies,
): Services {
  const { onChanged, onDesired } = context;
  const secrets = {
    secrets: stores.secrets,
    creations: stores.creations,
    onChanged,
    onDesired,
    random,
    seal: (accountId: string, id: string, value: string) =>
      sealer.seal(Buffer.from(value), secretValueIdentity(accountId, id)),
  };
  const registryAuths = {
    registryAuths: stores.registryAuths,
    creations: stores.creations,
    onChanged,
    onDesired,
    random,
    seal: (id: string, credentials: RegistryCredentials) => sealRegistryCredentials(sealer, id, credentials),
  };
  return [
    [EndpointServiceService, rate.limit(endpointHandlers(access, { ...context, rate: explainRate }, lists))],
    // Not limited as management is: requests of OpenAI clients wait for it. Facades count and cache it.
    [ModelServiceService, modelHandlers(access, batches.models, logger)],
    // A file is thousands of small calls.
    [FileServiceService, fileHandlers(access, batches.context, lists)],
    [BatchServiceService, rate.limit(batchHandlers(access, batches.context, lists))],
    [TemplateServiceService, rate.limit(templateHandlers(access, context, lists))],
    [
      VolumeServiceService,
      rate.limit(volumeHandlers(access, { volumes: stores.volumes, creations: stores.creations, random }, lists)),
    ],
    [RegistryAuthServiceService, rate.limit(registryAuthHandlers(access, registryAuths, lists))],
    [SecretServiceService, rate.limit(secretHandlers(access, secrets, lists))],
    [PodServiceService, rate.limit(podHandlers(access, { ...stores, ...context }, logs, lists))],
  ];
}

/** Builds the services of operators and agents: machines, catalog, problems and sessions. */
function operatorServices(
  shared: SharedParts,
  { clock, random, logger }: Dependencies,
  {
    advertise,
    webhookAllowPrivate: allowPrivate,
    smtpUrl,
  }: Pick<CoreConfig, 'advertise' | 'webhookAllowPrivate' | 'smtpUrl'>,
): Services {
  const { stores, context, problems, alerts, access, rate, logs, lists, own, sealer, registry } = shared;
  const { machineViews: machines, coreReleases: releases } = stores;
  const parts = { access, machines, releases, seen: shared.seenParts, clock, logger };
  const { joinTokens, authorities, secretKeys } = stores;
  const joined = { joinTokens, authorities, ...own, random };
  const joining = new Joining({ ...joined, access, sealer, clock });
  const tokens = { ...joined, advertise };
  return [
    [
      JoinServiceService,
      joinHandlers({
        access,
        joining,
        tokens,
        rotation: joined,
        secretKeys: { secretKeys, sealer },
        replicas: registry,
        logger,
      }),
    ],
    [PartServiceService, rate.limit(partHandlers(parts))],
    [ProblemServiceService, rate.limit(problemHandlers(access, problems, logger))],
    [
      AlertServiceService,
      rate.limit(
        alertHandlers(access, { ...stores, sealer, random, allowPrivate, sendsMail: smtpUrl !== '' }, alerts, lists),
      ),
    ],
    [MachineServiceService, rate.limit(machineHandlers({ access, context, logs, ...lists, clock }))],
    [CatalogServiceService, rate.limit(catalogHandlers(access, stores, logger))],
  ];
}

function agentService({ access, stores, dispatch, meter, onKeyChanged }: SharedParts, logger: Dependencies['logger']) {
  return agentHandlers({
    access,
    keys: stores.keys,
    images: stores.images,
    onBound: onKeyChanged,
    context: dispatch.sessions,
    meter: meter.engine.budgets,
    logger,
  });
}
