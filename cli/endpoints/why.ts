/**
 * `slipway why` and `slipway decisions`: why a job waits, why an endpoint has these workers, and what its scaler
 * decided.
 */

import {
  decisionRecord,
  endpointExplanationRecord,
  jobExplanationRecord,
} from '@slipway/facades/resources/explanations/present-explanation';
import type { FieldChanges } from '@slipway/facades/resources/mask-fields';
import { printable, printableLines } from '@slipway/kit/log/printable';
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type {
  AttemptExplanation,
  EndpointExplanation,
  JobExplanation,
  ScaleDecision,
  ScaleLimit,
} from '@slipway/proto/gen/slipway/v1/explanation';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { wholeNumber } from '../option-values.ts';
import { ago } from '../output/words.ts';
import { endpointIdOf } from '../shared/find-endpoint.ts';
import { readSettings, showWhatIf } from './what-if.ts';

/** Form of job ids: `<uuid>-u1`, or `sync-<uuid>-u1`. */
export const JOB_ID = /^(sync-)?[0-9a-f]{8}-[0-9a-f-]{27}-\w+$/;
const DECISIONS_DEFAULT = 20;

/** Adds the commands. */
export function addWhy(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'why [endpoint-or-job]',
    description: 'Explain the state of a job, or the workers of an endpoint.',
    examples: ['why', 'why ocr', 'why 7c9b6f0e-2d4c-4f0b-9a55-0f6c3f2f9e11-u1 --endpoint ocr'],
  })
    .option('-e, --endpoint <endpoint>', 'endpoint of the job, by id or name')
    .action((named: string | undefined, { endpoint }: { endpoint?: string }) =>
      named !== undefined && JOB_ID.test(named) ? whyJob(cli, named, endpoint) : whyEndpoint(cli, named ?? endpoint),
    );
  addCommand(program, {
    usage: 'decisions [endpoint]',
    description: 'List the scaling decisions of an endpoint with their reasons, newest last.',
    examples: [
      'decisions ocr',
      'decisions ocr --limit 200 --json',
      'decisions ocr --what-if workersMax=5,scalerType=SLO,scalerValue=10',
    ],
  })
    .option('--limit <number>', 'decisions, 1 to 1,000', wholeNumber(), DECISIONS_DEFAULT)
    .option(
      '--what-if <settings>',
      'show instead what other settings would have come to, as workersMax=5,scalerValue=2',
      readSettings,
    )
    .option('--hours <number>', 'with --what-if: hours back from now, 1 to 12; default 12', wholeNumber(1))
    .action(
      (
        named: string | undefined,
        { limit, whatIf, hours }: { limit: number; whatIf?: FieldChanges<Endpoint>; hours?: number },
      ) => (whatIf ? showWhatIf(cli, named, whatIf, hours ?? 0) : showDecisions(cli, named, limit)),
    );
}

async function whyEndpoint(cli: Cli, named: string | undefined): Promise<void> {
  const endpointId = await endpointIdOf(cli, named);
  const { explanation } = await cli.core.endpoints.call((client) => client.explain, { endpointId });
  cli.output.result(endpointExplanationRecord(explanation!), () => showEndpoint(cli, explanation!));
}

async function whyJob(cli: Cli, jobId: string, endpoint: string | undefined): Promise<void> {
  const endpointId = await endpointIdOf(cli, endpoint);
  const { explanation } = await cli.core.jobs.call((client) => client.explain, { endpointId, jobId });
  cli.output.result(jobExplanationRecord(explanation!), () => showJob(cli, explanation!));
}

function showJob(cli: Cli, { summary, attempts, endpoint }: JobExplanation): void {
  const { output } = cli;
  output.line(printable(summary));
  for (const attempt of attempts) output.line(`\n${attemptText(attempt, output.nowMs())}`);
  if (endpoint) showParts(cli, endpoint);
}

function attemptText(
  { attempt, workerId, exitCode, reason, workerAlive, cause, machine, lostTime }: AttemptExplanation,
  nowMs: number,
): string {
  const lost = lostTime
    ? ` came to nothing ${ago(lostTime, nowMs)}: ${printableLines(cause, '    ')}\n  Its worker`
    : ': its worker';
  const where = machine === '' ? '' : ` on ${printable(machine)}`;
  const end = workerAlive ? 'is there' : `has ended${exitCode === undefined ? '' : ` with exit code ${exitCode}`}`;
  return (
    `attempt ${attempt}${lost} ${workerId}${where} ` +
    `${end}${reason === '' ? '' : `: ${printableLines(reason, '    ')}`}`
  );
}

function showEndpoint(cli: Cli, explanation: EndpointExplanation): void {
  cli.output.line(printable(explanation.summary));
  showParts(cli, explanation);
}

function showParts(
  { output }: Cli,
  { lastDecision, limits, workers, machines, models, batches }: EndpointExplanation,
): void {
  if (lastDecision) output.line(`\nlast decision: ${decisionText(lastDecision, output.nowMs())}`);
  for (const limit of limits) output.line(`  ${limitWord(limit)}: ${printable(limit.text)}${changeText(limit.change)}`);
  if (workers.length > 0) output.line('\nworkers:');
  for (const { id, state, reason, change } of workers) {
    output.line(
      `  ${id} ${state.toLowerCase()}: ` +
        `${printableLines(reason, '    ')}${change === '' ? '' : `\n    to change that: ${printable(change)}`}`,
    );
  }
  if (models.length > 0) output.line('\nmodels:');
  for (const { reference, reason, change } of models)
    output.line(`  ${printable(reference)}: ${printable(reason)}${changeText(change)}`);
  if (batches.length > 0) output.line('\nbatches:');
  for (const { id, reason } of batches) output.line(`  ${id === '' ? '' : `${id}: `}${printable(reason)}`);
  if (machines.length > 0) output.line('\nmachines, for one more worker:');
  for (const { name, count, reason, change } of machines) {
    const who = name === '' ? `${count} ${count === 1 ? 'machine' : 'machines'}` : name;
    output.line(`  ${printable(who)}: ${printable(reason)}${changeText(change)}`);
  }
}

function changeText(change: string): string {
  return change === '' ? '' : `; to change that: ${printable(change)}`;
}

const LIMIT_WORDS: Record<string, string> = {
  REQUEST_RATE: 'rate limit',
  REQUESTS_AT_ONCE: 'rate limit',
  REQUEST_QUOTA: 'quota of requests',
};

function limitWord({ limit, cut }: ScaleLimit): string {
  if (cut > 0) return cut === 1 ? '1 fewer worker' : `${cut} fewer workers`;
  return LIMIT_WORDS[limit] ?? 'full';
}

async function showDecisions(cli: Cli, named: string | undefined, pageSize: number): Promise<void> {
  const endpointId = await endpointIdOf(cli, named);
  const { decisions } = await cli.core.endpoints.call((client) => client.listDecisions, {
    endpointId,
    pageSize,
    beforeId: 0,
  });
  const { output } = cli;
  output.result(decisions.map(decisionRecord), () => {
    for (const decision of decisions.toReversed()) output.line(decisionText(decision, output.nowMs()));
    if (decisions.length === 0) output.line('The scaler has made no decision yet.');
  });
}

function decisionText(
  { decideTime, target, present, throttled, reason, queued, running, actions }: ScaleDecision,
  nowMs: number,
): string {
  const done = [...Map.groupBy(actions, ({ kind }) => kind)]
    .map(([kind, all]) => `${kind.toLowerCase()} ${all.length}`)
    .join(', ');
  const numbers =
    `${queued} waiting, ${running} running, ` +
    `${workersText(present, target)}${throttled > 0 ? `, ${throttled} not placed` : ''}`;
  return `${ago(decideTime, nowMs)}: ${printable(reason)} (${numbers})${done === '' ? '' : `: ${done}`}`;
}

function workersText(present: number, target: number): string {
  const known = present === 1 ? '1 worker' : `${present || 'no'} workers`;
  return present === target ? known : `${known}, ${target === 0 ? 'none' : target} wanted`;
}
