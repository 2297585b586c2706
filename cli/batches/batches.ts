/** `slipway batches`: many requests that run in the time that workers have left. */
import type { Batch } from '@slipway/proto/gen/slipway/v1/batch_service';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { wholeNumber } from '../option-values.ts';
import { endpointIdOf } from '../shared/find-endpoint.ts';
import { WATCH, watched } from '../shared/watch.ts';
import type { OutputOptions } from './batch-results.ts';
import { writeOutput } from './batch-results.ts';
import { batchColumns, presentBatch, showBatch } from './present-batch.ts';
import type { RunOptions } from './run-batch.ts';
import { runBatch } from './run-batch.ts';

interface EndpointOption {
  endpoint?: string;
}

interface ListOptions extends EndpointOption {
  limit: number;
  after?: string;
}

const LIST_LIMIT = 20;
const LIST_LIMIT_MAX = 100;
const ENDPOINT = ['-e, --endpoint <endpoint>', 'batch of this endpoint, by id or name, instead of a file'] as const;

/** Adds the commands. */
export function addBatches(program: Command, cli: Cli): void {
  const batches = addCommand(program, {
    usage: 'batches',
    description:
      'Run many requests of a file at low priority, in the time that workers have left; list, show and cancel such ' +
      'batches.',
    examples: ['batches run requests.jsonl --wait --output results.jsonl', 'batches list', 'batches cancel BATCH'],
  });
  addRun(batches, cli);
  addReads(batches, cli);
  addCommand(batches, {
    usage: 'cancel <batch>',
    description: 'Cancel a batch. Results that it has are kept, requests that have not ended do not run.',
    examples: ['batches cancel BATCH', 'batches cancel BATCH -e ocr'],
  })
    .option(...ENDPOINT)
    .action(async (id: string, { endpoint }: EndpointOption) => {
      const request = { id, endpointId: await endpointIdIn(cli, endpoint) };
      show(cli, (await cli.core.batches.call((client) => client.cancelBatch, request)).batch!);
    });
}

function addRun(batches: Command, cli: Cli): void {
  addCommand(batches, {
    usage: 'run <file>',
    description:
      "Upload a file with one request a line, as OpenAI's batches have them, and run it. With --wait, follow the " +
      'batch to its end and write its results.',
    examples: [
      'batches run requests.jsonl',
      'batches run requests.jsonl --wait > results.jsonl',
      'batches run requests.jsonl --route /v1/embeddings --wait --output results.jsonl --json',
    ],
  })
    .option('--route <path>', 'path of all requests; default: the url of the first line')
    .option('-w, --wait', 'wait for the end; the exit code is 0 when all requests succeeded, else 4')
    .option('-o, --output <file>', 'with --wait: write the results to this file; default: stdout, none with --json')
    .action((file: string, options: RunOptions) => runBatch(cli, file, options));
}

function addReads(batches: Command, cli: Cli): void {
  addCommand(batches, {
    usage: 'list',
    description: 'List batches, newest first, with what holds them up.',
    examples: ['batches list', 'batches list --limit 100 --json', 'batches list -e ocr'],
  })
    .option('-e, --endpoint <endpoint>', 'batches of this endpoint, by id or name, instead of those of files')
    .option('--limit <number>', `at most this many, 1 to ${LIST_LIMIT_MAX}`, wholeNumber(1, LIST_LIMIT_MAX), LIST_LIMIT)
    .option('--after <batch>', 'those after this batch in the list')
    .option(...WATCH)
    .action(watched(cli, (options: ListOptions) => listBatches(cli, options)));
  addCommand(batches, {
    usage: 'get <batch>',
    description: 'Show a batch: how far it is, what holds it up, faults of its file.',
    examples: ['batches get BATCH', 'batches get BATCH --json', 'batches get BATCH -e ocr'],
  })
    .option(...ENDPOINT)
    .action(async (id: string, { endpoint }: EndpointOption) => {
      const request = { id, endpointId: await endpointIdIn(cli, endpoint) };
      show(cli, (await cli.core.batches.call((client) => client.getBatch, request)).batch!);
    });
  addCommand(batches, {
    usage: 'output <batch>',
    description: 'Write the results of a batch of a file: one JSON line for each request that succeeded.',
    examples: ['batches output BATCH > results.jsonl', 'batches output BATCH --errors --output errors.jsonl'],
  })
    .option('--errors', 'write the failed requests with their errors instead')
    .option('-o, --output <file>', 'write to this file; default: stdout')
    .action((id: string, options: OutputOptions) => writeOutput(cli, id, options));
}

async function listBatches(cli: Cli, { endpoint, limit, after = '' }: ListOptions): Promise<void> {
  const request = { endpointId: await endpointIdIn(cli, endpoint), limit, after };
  const { batches, more } = await cli.core.batches.call((client) => client.listBatches, request);
  const { output } = cli;
  output.result({ batches: batches.map(presentBatch), more }, () => {
    output.table<Batch>(
      batchColumns(output.nowMs()),
      batches,
      'There are no batches; "slipway batches run --help" shows how to run one.',
    );
    if (more) output.note(`There are more: --after ${batches.at(-1)!.id}`);
  });
}

/** Returns the id of the endpoint that is named. Empty: none is, for batches of files. */
async function endpointIdIn(cli: Cli, named: string | undefined): Promise<string> {
  return named === undefined ? '' : endpointIdOf(cli, named);
}

function show({ output }: Cli, batch: Batch): void {
  output.result(presentBatch(batch), () => showBatch(output, batch));
}
