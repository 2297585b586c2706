/**
 * Which folders may import which: tidy.test.ts holds the imports of all sources to it. ARCHITECTURE.md has the reasons.
 */

/** What every surface of the facade may import: what they share is there, and never in another surface. */
const FACADE_SHARED = [
  'facades/config.ts',
  'facades/core-client/',
  'facades/plugins/',
  'facades/resources/',
  'proto/',
  'core/runtime/',
];

/** Numbers on which both ends of a wire rest, and so does how long a row counts. */
const LINK_TIMERS = 'proto/wire/link-timers.ts';

/** Which folders a folder's files may import, besides packages and themselves. The first matching row counts. */
export const ARROWS: [folder: string, allowed: string[]][] = [
  ['core/runtime/', []],
  ['core/domain/', []],
  ['drizzle/', []],
  ['proto/wire/', ['proto/']],
  ['core/store/', ['core/domain/', 'core/runtime/', 'drizzle/', LINK_TIMERS]],
  ['core/events/', ['core/domain/', 'core/store/', 'core/runtime/']],
  ['core/jobs/', ['core/domain/', 'core/store/', 'core/runtime/', 'core/events/']],
  ['core/endpoints/', ['core/domain/', 'core/store/', 'core/runtime/']],
  ['core/access/', ['core/domain/', 'core/store/', 'core/runtime/', 'core/events/']],
  ['core/resources/', ['core/domain/', 'core/store/', 'core/runtime/']],
  ['core/pods/', ['core/domain/', 'core/store/', 'core/runtime/']],
  ['core/reports/', ['core/domain/', 'core/store/', 'core/runtime/']],
  ['core/catalog/', ['core/domain/', 'core/store/', 'core/runtime/']],
  ['core/singleton-tasks/', ['core/domain/', 'core/store/', 'core/runtime/', 'core/events/', 'core/jobs/']],
  ['core/scaling/', ['core/domain/', 'core/store/', 'core/runtime/', 'core/events/', 'core/jobs/', LINK_TIMERS]],
  ['core/edge/', ['core/domain/', 'core/store/', 'core/runtime/', 'core/events/']],
  ['core/dispatch/', ['core/domain/', 'core/store/', 'core/runtime/', 'core/events/', 'core/jobs/', 'proto/']],
  ['core/metrics/', ['core/domain/', 'core/store/', 'core/runtime/', 'core/jobs/', 'core/scaling/']],
  ['core/rpc/', ['core/', 'proto/']],
  ['core/', ['core/', 'proto/', 'drizzle/']],
  ['facades/config.ts', ['proto/', 'core/runtime/']],
  ['facades/core-client/', ['proto/', 'core/runtime/']],
  ['facades/plugins/', ['facades/resources/', 'proto/', 'core/runtime/']],
  ['facades/resources/', ['proto/', 'core/runtime/']],
  ['facades/jobs/', FACADE_SHARED],
  ['facades/queue/', ['facades/jobs/', ...FACADE_SHARED]],
  ['facades/activator/', FACADE_SHARED],
  ['facades/openai/', ['facades/jobs/', ...FACADE_SHARED]],
  ['facades/rest/', FACADE_SHARED],
  ['facades/rest-v2/', ['facades/jobs/', ...FACADE_SHARED]],
  ['facades/graphql/', FACADE_SHARED],
  ['facades/front/', FACADE_SHARED],
  // Runs in browsers: of the server it knows what that tells it, and nothing else.
  ['facades/console/web/', ['facades/console/views.ts', 'facades/console/views-of-']],
  ['facades/console/', ['facades/jobs/', ...FACADE_SHARED]],
  ['cli/', ['facades/core-client/', 'facades/resources/', 'proto/', 'core/runtime/']],
  ['facades/', ['facades/', 'proto/', 'core/runtime/']],
  // The agent: each layer knows those below it. Only what stands beside the folders, app.ts and the build files, knows
  // all.
  ['worker/', []],
  ['gpu-agent/users/', ['core/runtime/']],
  ['gpu-agent/spool/', ['proto/', 'core/runtime/']],
  ['gpu-agent/inventory/', ['proto/', 'core/runtime/']],
  ['gpu-agent/images/', ['proto/', 'core/runtime/']],
  ['gpu-agent/executors/', ['gpu-agent/images/', 'gpu-agent/inventory/', 'core/runtime/']],
  [
    'gpu-agent/launch/',
    ['gpu-agent/executors/', 'gpu-agent/inventory/', 'gpu-agent/users/', 'proto/', 'core/runtime/'],
  ],
  [
    'gpu-agent/units/',
    [
      'gpu-agent/launch/',
      'gpu-agent/executors/',
      'gpu-agent/inventory/',
      'gpu-agent/users/',
      'proto/',
      'core/runtime/',
    ],
  ],
  ['gpu-agent/attempts/', ['gpu-agent/units/', 'gpu-agent/spool/', 'proto/', 'core/runtime/']],
  ['gpu-agent/bridge/', ['gpu-agent/attempts/', 'gpu-agent/units/', 'worker/frames.ts', 'proto/', 'core/runtime/']],
  [
    'gpu-agent/session/',
    ['gpu-agent/attempts/', 'gpu-agent/units/', 'gpu-agent/launch/', 'gpu-agent/spool/', 'proto/', 'core/runtime/'],
  ],
  ['gpu-agent/tunnel/', ['proto/', 'core/runtime/']],
  ['gpu-agent/', ['proto/', 'core/runtime/']],
  // What the edge lets through is made of the project's own limits, and decided as facades do.
  [
    'deploy/envoy/',
    ['facades/plugins/limits/rate-limit-rules.ts', 'facades/edge-authorizer.ts', 'proto/', 'core/runtime/'],
  ],
  ['deploy/', ['facades/core-client/', 'proto/', 'core/runtime/']],
  ['examples/', []],
];
