/**
 * The rules of which folders may import which. tidy.test.ts checks the imports of all sources. ARCHITECTURE.md gives
 * the reasons.
 */

/**
 * Modules that every surface of the facade may import. Code that surfaces share is there, and never in another surface.
 */
const FACADE_SHARED = [
  'facades/config.ts',
  'facades/facade-version.ts',
  'facades/core-client/',
  'facades/plugins/',
  'facades/resources/',
  'proto/',
  'kit/',
];

/** Numbers on which both ends of a wire rest, and so does how long a row counts. */
const LINK_TIMERS = 'proto/wire/link-timers.ts';

/** Which folders a folder's files may import, besides packages and themselves. The first matching row counts. */
export const ARROWS: [folder: string, allowed: string[]][] = [
  ['kit/net/', ['kit/', 'proto/']],
  ['kit/', []],
  ['core/domain/', []],
  ['drizzle/', []],
  ['proto/wire/', ['proto/']],
  ['core/store/', ['core/domain/', 'kit/', 'drizzle/', LINK_TIMERS]],
  ['core/events/', ['core/domain/', 'core/store/', 'kit/']],
  ['core/jobs/', ['core/domain/', 'core/store/', 'kit/', 'core/events/']],
  ['core/endpoints/', ['core/domain/', 'core/store/', 'kit/']],
  ['core/batches/', ['core/domain/', 'core/store/', 'kit/', 'core/events/', 'core/jobs/', 'core/endpoints/']],
  ['core/access/', ['core/domain/', 'core/store/', 'kit/', 'core/events/']],
  ['core/resources/', ['core/domain/', 'core/store/', 'kit/']],
  ['core/pods/', ['core/domain/', 'core/store/', 'kit/']],
  ['core/reports/', ['core/domain/', 'core/store/', 'kit/']],
  ['core/catalog/', ['core/domain/', 'core/store/', 'kit/']],
  [
    'core/singleton-tasks/',
    ['core/domain/', 'core/store/', 'kit/', 'core/events/', 'core/jobs/', 'core/batches/', 'core/endpoints/'],
  ],
  ['core/scaling/', ['core/domain/', 'core/store/', 'kit/', 'core/events/', 'core/jobs/', LINK_TIMERS]],
  ['core/edge/', ['core/domain/', 'core/store/', 'kit/', 'core/events/']],
  ['core/dispatch/', ['core/domain/', 'core/store/', 'kit/', 'core/events/', 'core/jobs/', 'proto/']],
  ['core/metrics/', ['core/domain/', 'core/store/', 'kit/', 'core/jobs/', 'core/scaling/']],
  ['core/rpc/', ['core/', 'proto/', 'kit/']],
  ['core/', ['core/', 'proto/', 'kit/', 'drizzle/']],
  ['facades/config.ts', ['proto/', 'kit/']],
  ['facades/core-client/', ['proto/', 'kit/']],
  ['facades/plugins/', ['facades/resources/', 'proto/', 'kit/']],
  ['facades/resources/', ['proto/', 'kit/']],
  ['facades/jobs/', FACADE_SHARED],
  ['facades/queue/', ['facades/jobs/', ...FACADE_SHARED]],
  ['facades/activator/', FACADE_SHARED],
  ['facades/openai/', ['facades/jobs/', ...FACADE_SHARED]],
  ['facades/rest/', FACADE_SHARED],
  ['facades/rest-v2/', ['facades/jobs/', ...FACADE_SHARED]],
  ['facades/graphql/', FACADE_SHARED],
  ['facades/front/', FACADE_SHARED],
  // Runs in browsers: it knows only what the server sends it.
  [
    'facades/console/web/',
    [
      'facades/console/views.ts',
      'facades/console/views-of-',
      'facades/resources/templates/image-name.ts',
      'kit/bytes/exact-json.ts',
    ],
  ],
  ['facades/console/', ['facades/jobs/', ...FACADE_SHARED]],
  // It reads what REST v2 answers, and writes what its bodies say.
  [
    'cli/import/',
    [
      'cli/',
      'facades/core-client/',
      'facades/plugins/errors/',
      'facades/resources/',
      'facades/rest-v2/',
      'proto/',
      'kit/',
    ],
  ],
  ['cli/', ['facades/core-client/', 'facades/resources/', 'proto/', 'kit/']],
  ['facades/', ['facades/', 'proto/', 'kit/']],
  // The agent: each layer knows those below it. Only the files beside the folders, app.ts and the build files, know
  // all.
  ['worker/', []],
  ['gpu-agent/users/', ['kit/']],
  ['gpu-agent/spool/', ['proto/', 'kit/']],
  ['gpu-agent/inventory/', ['proto/', 'kit/']],
  ['gpu-agent/gpu-memory/', ['gpu-agent/inventory/', 'kit/']],
  ['gpu-agent/images/', ['proto/', 'kit/']],
  ['gpu-agent/models/', ['gpu-agent/images/', 'proto/', 'kit/']],
  ['gpu-agent/executors/', ['gpu-agent/images/', 'gpu-agent/inventory/', 'kit/']],
  [
    'gpu-agent/launch/',
    ['gpu-agent/models/', 'gpu-agent/executors/', 'gpu-agent/inventory/', 'gpu-agent/users/', 'proto/', 'kit/'],
  ],
  [
    'gpu-agent/workloads/',
    [
      'gpu-agent/launch/',
      'gpu-agent/executors/',
      'gpu-agent/gpu-memory/',
      'gpu-agent/inventory/',
      'gpu-agent/users/',
      'proto/',
      'kit/',
    ],
  ],
  ['gpu-agent/attempts/', ['gpu-agent/workloads/', 'gpu-agent/spool/', 'proto/', 'kit/']],
  ['gpu-agent/bridge/', ['gpu-agent/attempts/', 'gpu-agent/workloads/', 'worker/frames.ts', 'proto/', 'kit/']],
  [
    'gpu-agent/session/',
    ['gpu-agent/attempts/', 'gpu-agent/workloads/', 'gpu-agent/launch/', 'gpu-agent/spool/', 'proto/', 'kit/'],
  ],
  ['gpu-agent/hosts/', ['gpu-agent/executors/', 'gpu-agent/inventory/', 'proto/', 'kit/']],
  ['gpu-agent/tunnel/', ['proto/', 'kit/']],
  ['gpu-agent/', ['proto/', 'kit/']],
  // The edge's limits are the project's own, and it decides as facades do.
  ['edge/', ['facades/plugins/limits/rate-limit-rules.ts', 'facades/edge-authorizer.ts', 'proto/', 'kit/']],
  ['dev/', ['facades/core-client/', 'proto/', 'kit/']],
  ['tools/', ['tools/', 'test/', 'dev/', 'core/', 'edge/', 'facades/', 'proto/', 'kit/']],
  ['examples/', []],
];
