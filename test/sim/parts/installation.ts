/** The rows with which a simulation begins, and rows that are counted at its end. */
import type { Counted } from '../checker/history.ts';
import type { PlainConnection } from '../database/sim-server.ts';

/** Endpoints: how many workers they always and at most have, and how many jobs or requests a worker takes at a time. */
const ENDPOINTS = [
  { type: 'QB', workersMin: 1, workersMax: 4, concurrency: 1, template: 'command' },
  { type: 'QB', workersMin: 0, workersMax: 4, concurrency: 2, template: 'image' },
  { type: 'QB', workersMin: 2, workersMax: 4, concurrency: 3, template: 'command' },
  { type: 'LB', workersMin: 1, workersMax: 3, concurrency: 50, template: 'command' },
  { type: 'QB', workersMin: 2, workersMax: 2, concurrency: 1, template: 'image' },
] as const;

/** Writes an account with endpoints, and keys of agents that these machines have used. */
export async function prepareInstallation(
  admin: PlainConnection,
  endpoints: readonly string[],
  machines: readonly { id: string; key: string }[],
): Promise<void> {
  const rows = endpoints.map((id, n) => {
    const { type, workersMin, workersMax, concurrency, template } = ENDPOINTS[n]!;
    const scaler = type === 'LB' ? 'REQUEST_COUNT' : 'QUEUE_DELAY';
    return `INSERT INTO endpoint (id, account_id, name, type, template_id, compute_type, gpu_count, retry_limit,
      workers_min, workers_max, worker_concurrency, idle_timeout_seconds, scaler_type, scaler_value)
      VALUES ('${id}', 'account', '${id}', '${type}', '${template}', 'CPU', 0, 10,
        ${workersMin}, ${workersMax}, ${concurrency}, 5, '${scaler}', 4);`;
  });
  const keys = machines.map(
    ({ id, key }) => `INSERT INTO api_key (id, name, scope, machine_id, secret_hash)
      VALUES ('key of ${id}', '${id}', 'AGENT', '${id}', sha256('${key}'));`,
  );
  await admin.query(
    `INSERT INTO account (id, name) VALUES ('account', 'account');
     INSERT INTO template (id, account_id, name, start_command) VALUES ('command', 'account', 'command', '{run}');
     INSERT INTO template (id, account_id, name, image_name) VALUES ('image', 'account', 'image', 'sim/worker:1');
     ${[...rows, ...keys].join('\n')}`,
  );
}

/** Returns the numbers of an endpoint's jobs that have not ended. */
export async function countRows(admin: PlainConnection, endpoint: string): Promise<Counted['truth']> {
  const rows = await admin.query(
    `SELECT state, count(*) FROM job WHERE endpoint_id = '${endpoint}' AND state IN ('IN_QUEUE', 'IN_PROGRESS')
      GROUP BY state`,
  );
  const of = (state: string): number => Number(rows.find(([name]) => name === state)?.[1] ?? 0);
  return { inQueue: of('IN_QUEUE'), inProgress: of('IN_PROGRESS') };
}
