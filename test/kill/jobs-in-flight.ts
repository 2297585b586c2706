/** Jobs in flight while a process is killed, and the checks after they have ended. */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { webhookReceiver } from '../helpers/net/webhook-receiver.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import type { ProcessEntry } from '../helpers/system/process-table.ts';
import { descendants, processTable } from '../helpers/system/process-table.ts';
import type { Processes } from '../helpers/system/processes.ts';
import type { PublicJson } from '../helpers/system/public-api.ts';
import { seededRandom } from '../helpers/time/seeded-random.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

/** Jobs that have not ended when the first process is killed. */
const IN_FLIGHT = Number(process.env.SLIPWAY_TEST_IN_FLIGHT ?? 60);
/** These go first: some of them have ended when the others may go, however long it takes to see that. */
const EARLY = 20;
const SUBMITTED = EARLY + IN_FLIGHT;
const CONNECTIONS = 20;
/** Every so many jobs one has a large output. */
const LARGE_EACH = 10;
const WORK_MS_MIN = 50;
const WORK_MS_MAX = 200;
const ENDED_MS_MAX = 120_000;
/** An agent gives a worker it does not need any longer some seconds to end. */
const LEFTOVERS_MS_MAX = 60_000;

interface Output {
  number: number;
  mark: string;
  pad?: string;
}

export type JobsInFlight = Awaited<ReturnType<typeof startJobs>>;

/** Options of the system and the jobs. */
export interface InFlightOptions {
  /** Default 1. */
  workers?: number;
  /** Default: the endpoint's own default. */
  retryLimit?: number;
  /** Every tenth output has so many bytes more. Default 0. */
  largeBytes?: number;
  /** Command of the workers. Default: this release's. */
  command?: string[];
}

/** Submits the jobs, lets them go and resolves when the first have ended and the others have not. */
export async function startJobs(
  t: Test,
  slipway: Processes,
  { workers = 1, retryLimit, largeBytes = 0, command = jsHandler('in-flight.js') }: InFlightOptions = {},
) {
  const folder = await mkdtemp(join(slipway.folder, 'jobs-'));
  const [early, late, notes] = ['early', 'late', 'notes'].map((name) => join(folder, name)) as [string, string, string];
  const receiver = await webhookReceiver(t);
  // A core that was killed before is connected to again after a pause.
  const machines = { pageSize: 1, pageToken: '' };
  await waitFor('core to answer', () => call(slipway.clients.machines, 'listMachines', machines, slipway.rootKey));
  const id = await slipway.createEndpoint({
    command,
    fields: { workersMin: workers },
    workersMax: workers,
    ...(retryLimit === undefined ? {} : { retryLimit }),
  });
  const jobs = endpointJobs(slipway, id);
  const acknowledged = new Map<number, string>();
  const random = seededRandom();
  const bytesOf = (number: number): number => (number % LARGE_EACH === 0 ? largeBytes : 0);

  /**
   * Submits as a careful client does: again with the same Idempotency-Key until it is acknowledged. Only then the job
   * counts.
   */
  const submitOne = async (number: number): Promise<void> => {
    const ms = WORK_MS_MIN + random.below(WORK_MS_MAX - WORK_MS_MIN);
    const body = {
      input: { number, ms, gate: number < EARLY ? early : late, notes, bytes: bytesOf(number) },
      webhook: receiver.url(`job-${number}`),
    };
    acknowledged.set(
      number,
      await waitFor(
        `job ${number} to be accepted`,
        async () => {
          const answer = await slipway.request('POST', `/v2/${id}/run`, body, { 'idempotency-key': `${id}-${number}` });
          if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
          return answer.json.id;
        },
        ENDED_MS_MAX,
      ),
    );
  };
  const submit = async (count: number): Promise<void> => {
    const from = acknowledged.size;
    await inLanes(
      Array.from({ length: count }, (_, index) => from + index),
      submitOne,
    );
  };
  const countEnded = async (): Promise<number> => {
    const [row] = await slipway.sql<{ n: number }[]>`
      SELECT count(*)::int AS n FROM job WHERE endpoint_id = ${id} AND finished_at IS NOT NULL`;
    return row!.n;
  };

  /** Marks of the outputs that are stored: which run of a job counted. */
  const storedMarks = async (): Promise<Set<string>> => {
    const rows = await slipway.sql<
      { output: Buffer | null }[]
    >`SELECT output FROM job_output WHERE endpoint_id = ${id}`;
    return new Set(rows.flatMap(({ output }) => (output ? [(JSON.parse(output.toString()) as Output).mark] : [])));
  };
  /**
   * A core that is killed in a webhook call keeps the row for 40 s, so that no other core calls meanwhile. Tests do not
   * wait for that.
   */
  const hurryWebhooks = async (): Promise<void> => {
    await slipway.sql`UPDATE webhook_delivery SET due_at = now()`;
  };

  await submit(SUBMITTED);
  await writeFile(early, '');
  const ended = await waitFor('the first jobs to end', countEnded);
  t.ok(SUBMITTED - ended >= IN_FLIGHT, `${SUBMITTED - ended} jobs are in flight`);
  await writeFile(late, '');
  const readNotes = async (): Promise<Note[]> => parseNotes(await readFile(notes, 'utf8'));
  const agentPids = (): number[] => slipway.agents.map(({ pid }) => pid);
  /** Workers that core counts on. */
  const countWorkers = async (): Promise<number> => {
    const [row] = await slipway.sql<{ n: number }[]>`
      SELECT count(*)::int AS n FROM worker WHERE endpoint_id = ${id} AND desired <> 'GONE' AND state <> 'STOPPED'`;
    return row!.n;
  };
  /** Ends the endpoint's workers. */
  const close = async (): Promise<void> => {
    await waitFor(
      'the endpoint to be closed',
      async () =>
        (await slipway.request('PATCH', `/v1/endpoints/${id}`, { workersMin: 0, workersMax: 0 })).status === 200,
    );
  };
  return {
    endpointId: id,
    folder,
    jobs,
    submit,
    close,
    acknowledged,
    bytesOf,
    countEnded,
    countWorkers,
    agentPids,
    hurryWebhooks,
    readNotes,
    storedMarks,
    receiver,
  };
}

/**
 * Waits for the end of all acknowledged jobs and checks each of them. `others` jobs of the endpoint were submitted
 * besides them.
 */
export async function checkOutcomes(t: Test, inFlight: JobsInFlight, others = 0): Promise<void> {
  const { jobs, acknowledged } = inFlight;
  await waitFor(
    'all jobs to end',
    async () => {
      const ended = await inFlight.countEnded();
      if (ended < acknowledged.size + others) throw new Error(`${ended} of ${acknowledged.size} have ended`);
      return true;
    },
    ENDED_MS_MAX,
  );
  const records = new Map<number, PublicJson>();
  await inLanes([...acknowledged], async ([number, id]) => {
    records.set(number, await waitFor('its record', () => jobs.look(id)));
  });
  const notes = await inFlight.readNotes();
  const wrong = [...records].filter(([number, job]) => {
    const output = job.output as Output | undefined;
    const ran = notes.some((note) => note.id === job.id && note.mark === output?.mark);
    const isWhole = (output?.pad?.length ?? 0) === inFlight.bytesOf(number);
    return job.status !== 'COMPLETED' || output?.number !== number || !ran || !isWhole;
  });
  t.same(wrong, [], `all ${records.size} jobs are COMPLETED, each with the output of a run of its own`);
  const { jobs: counts } = await jobs.counted({ inProgress: 0, inQueue: 0 });
  t.match(counts, { completed: acknowledged.size + others, failed: 0 }, 'each has one outcome');
  t.comment(`${counts.retried} attempts were lost and put back`);
  await checkWebhooks(t, inFlight, records);
  await checkLeftovers(t, inFlight, notes);
  await inFlight.close();
}

/**
 * Checks that the outcome reported by a webhook is the one that stays. A call may come twice, but never with another
 * outcome.
 */
async function checkWebhooks(t: Test, inFlight: JobsInFlight, records: Map<number, PublicJson>): Promise<void> {
  await inFlight.hurryWebhooks();
  const different: string[] = [];
  for (const [number, job] of records) {
    await inFlight.receiver.received(`job-${number}`);
    for (const { body } of inFlight.receiver.calls(`job-${number}`)) {
      const told = JSON.parse(body) as { id: string; output?: Output };
      if (told.id !== job.id || told.output?.mark !== (job.output as Output).mark) different.push(body);
    }
  }
  t.same(different, [], 'every webhook told the outcome that stays');
}

/**
 * Workers whose agent or machine was lost must not go on in the background: what runs belongs to a live agent and is
 * known to core.
 */
async function checkLeftovers(t: Test, inFlight: JobsInFlight, notes: Note[]): Promise<void> {
  const pids = new Set(notes.map((note) => note.pid));
  const runs = ({ pid, command }: ProcessEntry): boolean => pids.has(pid) && command.includes('in-flight.js');
  await waitFor(
    'former workers to end',
    async () => {
      const owned = new Set(
        inFlight
          .agentPids()
          .flatMap((pid) => descendants(pid))
          .map(({ pid }) => pid),
      );
      const alive = processTable().filter(runs);
      const strays = alive.filter(({ pid }) => !owned.has(pid));
      const known = await inFlight.countWorkers();
      if (strays.length > 0 || alive.length > known)
        throw new Error(`core knows ${known} workers; run: ${JSON.stringify({ alive, strays })}`);
      return true;
    },
    LEFTOVERS_MS_MAX,
  );
  t.pass('no former worker still runs');
}

/**
 * Prints how long it took from an instant to the first job that was begun and completed after it, in milliseconds since
 * 1970.
 */
export async function reportRecovery(t: Test, slipway: Processes, what: string, sinceMs: number): Promise<void> {
  const [row] = await slipway.sql<{ ms: number | null }[]>`
    SELECT extract(epoch FROM min(finished_at))::float8 * 1000 - ${sinceMs}::float8 AS ms FROM job
    WHERE state = 'COMPLETED' AND started_at > to_timestamp(${sinceMs}::float8 / 1000)`;
  t.comment(`recovery: ${Math.round(row!.ms ?? Number.NaN)} ms after ${what} a job was begun and completed`);
}

interface Note {
  id: string;
  mark: string;
  pid: number;
}

function parseNotes(text: string): Note[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const [id, mark, pid] = line.split(' ');
      return { id: id!, mark: mark!, pid: Number(pid) };
    });
}

async function inLanes<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const waiting = [...items];
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
    }),
  );
}
