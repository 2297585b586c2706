/** Code that tidy.test.ts bans outside the few files that may have it. */

/** Code that is banned: the pattern, the files where it is allowed, and what to do instead. */
export const BANS: [pattern: RegExp, allowed: RegExp, instead: string][] = [
  [
    /process\.env/,
    // These files of the console hold samples for users. NOTIFY_SOCKET is no setting: systemd sets it.
    /\/(config|notify-supervisor)\.ts$|^(test|dev|tools|worker|examples)\/|\/pinned-node\.mjs$|\/(lb-|openai-|endpoint\/)code\.tsx?$/,
    'read it in the config.ts of the process and hand it in',
  ],
  [
    /\bDate\.now\b|new Date\(\)|\bperformance\.now\b|\bhrtime\b|\bprocess\.uptime\b/,
    // In browsers there is one clock, and one file has it.
    /^kit\/time\/clock\.ts$|^facades\/console\/web\/src\/lib\/stopwatch\.ts$|^(test|tools)\/|^worker\/|^examples\//,
    'use the Clock that is handed in',
  ],
  [
    // Also where it is handed on. Those of a socket bound its silence.
    /(?<![.\w])set(Timeout|Interval)(?=[(,;)])|\b(globalThis|window)\.set(Timeout|Interval)\b|'node:timers'/,
    new RegExp(
      '^(' +
        [
          '(kit/time/clock|facades/console/web/src/lib/stopwatch|test/sim/world/process-time)\\.ts$',
          '(worker|examples|tools)/',
          'test/(dev|tools|edge|deploy|helpers|handlers)/',
        ].join('|') +
        ')',
    ),
    'use Clock.after, delay or Loop; tests wait for a condition',
  ],
  [
    /\bMath\.random\b/,
    /^examples\/|^test\/(helpers\/time\/seeded-random|sim\/world\/process-time)\.ts$/,
    'use the Random that is handed in; tests use seededRandom',
  ],
  // Secrets and names of tests need only differ. Random choices of test data must be reproducible from a seed.
  [
    /\brandomBytes\((?!\d{1,2}\))|\brandomInt\b/,
    /^(?!test\/|tools\/bench)/,
    'take it from seededRandom, which says its seed',
  ],
  [
    // Turns of the loop and time limits besides the clock. Ours for workers runs in the users' processes, which have no
    // seams; a test may let a turn pass.
    /\b(setImmediate|queueMicrotask)\b|\bprocess\.nextTick\b|\bAbortSignal\.timeout\b|\btimers\/promises\b/,
    /^kit\/time\/clock\.ts$|^worker\/|^dev\/install\/bootstrap\.mjs$|^kit\/host\/pinned-node\.mjs$|^(deploy\/(images|helm)|examples|test|tools)\//,
    'use Clock.soon, Clock.after, within or delay',
  ],
  [
    // Randomness that does not come from Random. Nonces of seals and secrets of an installation must never be
    // predictable, whichever Random is passed in.
    /\b(randomBytes|randomUUID|randomInt|getRandomValues|randomFill(Sync)?)\b/,
    /^kit\/(time\/clock|host\/seal)\.ts$|^dev\/(secrets|postgres\/postgres-program)\.ts$|\/new-id\.ts$|^(worker|deploy\/(images|helm)|examples|test|tools)\//,
    'use the Random that is handed in',
  ],
  [
    // Builders have these as defaults, and programs use them directly. Traces are sent by the machine's clock, even in
    // simulations.
    /\b(systemClock|systemRandom|systemTransport|machineDisk)\b/,
    new RegExp(
      '^(' +
        [
          'kit/(time/clock|host/disk|observe/tracing|observe/trace-sender)\\.ts',
          'kit/net/channel\\.ts',
          '(core|facades|gpu-agent)/(app|main)\\.ts',
          'core/backup-main\\.ts',
          'gpu-agent/(reaper|clean|manage-models|gpu-memory/driver-broker)\\.ts',
          'cli/main\\.ts',
          'edge/(main|edge)\\.ts',
          'dev/(launcher|start)\\.ts',
          'tools/.*',
          'test/.*',
        ].join('|') +
        ')$',
    ),
    'take the Clock, Random, Transport or Disk that is handed in',
  ],
  // Data that must outlive a process is written through the Disk that is passed in. Settings, secrets and programs are
  // read from the machine's disk.
  [/'node:fs(\/promises)?'/, /^(?!gpu-agent\/spool\/)/, 'use the Disk that is handed in (kit/host/disk.ts)'],
  [
    /\bconsole\./,
    /^(dev|tools|examples|test|worker)\/|\/(lb-|openai-|endpoint\/)code\.tsx?$/,
    'use the logger that is handed in',
  ],
  [
    /\bsql`|\bSql\b|\.(sql|hot|urgent)\b|'postgres'|drizzle-orm|\bstore\/sql\/database\b/,
    /^core\/store\/|^(drizzle|test|dev|tools)\//,
    'ask a store for it: all SQL is in core/store, and nobody else holds a connection',
  ],
  [
    /^import (?!type).*'drizzle-orm/,
    /^(test|tools)\//,
    'import it from drizzle/orm.ts: as ES modules it is loaded a second time',
  ],
  [
    /^import (?!type).*'node:http'/,
    /^dev\/install\/bootstrap\.mjs$|^examples\/|^(test|tools)\//,
    'take it from node-http.ts: an ES import loads all of fetch',
  ],
  [
    /\blogger\.child\(/,
    /^(test|tools)\//,
    'name the fields in each line: those of a child are not looked through for secrets',
  ],
  [/@ts-(ignore|nocheck|expect-error)/, /^$/, 'mend the type'],
  [
    /\bcreateInsecure\b|\bbindAsync\b/,
    /^kit\/net\/channel\.ts$|^(test|tools)\//,
    'open channels and servers by kit/net/channel.ts',
  ],
  [
    /See the file's first line/,
    /^$/,
    'say it here (meaning, units, errors), or nothing where the name and the head of the file say it',
  ],
  [/\b(TODO|FIXME|XXX|HACK)\b/, /^$/, 'do it now or write it into an issue'],
  [/\b(t|test|it|describe)\.(only|skip)\(/, /^test\/.*\.ts$/, 'run every test'],
];
