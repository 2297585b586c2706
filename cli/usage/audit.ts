/** `slipway audit`: the trail of changes and their authors. */

import { printable } from '@slipway/kit/log/printable';
import type { AuditEvent } from '@slipway/proto/gen/slipway/v1/audit_service';
import { ListView } from '@slipway/proto/gen/slipway/v1/list_view';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { wholeNumber } from '../option-values.ts';
import { bothOf, valueText } from '../output/value-text.ts';
import { ago } from '../output/words.ts';

interface AuditOptions {
  limit: number;
  subject?: string;
  refused?: boolean;
  all?: boolean;
  account?: string;
}

const PAGE_MAX = 1_000;
const LIMIT = 50;
const LIMIT_MAX = 100_000;

/** Adds the command. */
export function addAudit(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'audit',
    description:
      'List changes and who made them, newest first, and attempts that were refused. Needs a key with all permissions.',
    examples: ['audit', 'audit --refused', 'audit --subject cvedjim4ix3lzj --limit 500 --json'],
  })
    .option('--limit <number>', `at most this many, 1 to ${LIMIT_MAX}`, wholeNumber(1, LIMIT_MAX), LIMIT)
    .option('--subject <id>', 'only changes of this endpoint, template, key, …')
    .option('--refused', 'only attempts that were refused')
    .option('--all', 'changes in all accounts; for the operator')
    .option('--account <id>', 'changes in this account; for the operator')
    .action((options: AuditOptions) => listEvents(cli, options));
}

async function listEvents(
  cli: Cli,
  { limit, subject = '', refused = false, all = false, account: accountId }: AuditOptions,
): Promise<void> {
  const core = all || accountId !== undefined ? cli.operator : cli.core;
  const events: AuditEvent[] = [];
  let pageToken = '';
  do {
    const pageSize = Math.min(limit - events.length, PAGE_MAX);
    const view = ListView.fromPartial(refused ? { filters: { refused: 'yes' } } : {});
    const request = { pageSize, pageToken, subjectId: subject, accountId, view };
    const page = await core.audit.call((client) => client.listAuditEvents, request);
    events.push(...page.events);
    pageToken = page.nextPageToken;
  } while (pageToken !== '' && events.length < limit);
  const { output } = cli;
  output.result(events.map(presentEvent), () => {
    output.table<AuditEvent>(
      [
        { title: 'WHEN', text: ({ time }) => ago(time, output.nowMs()) },
        { title: 'ACTION', text: ({ action }) => action },
        { title: 'ACCOUNT', text: (event) => (all ? event.accountId : '') },
        { title: 'SUBJECT', text: ({ subjectId, subjectName }) => named(subjectId, subjectName) },
        { title: 'KEY', text: ({ keyId, keyName }) => named(keyId, keyName) },
        { title: 'FROM', text: ({ address }) => address },
        { title: 'CHANGE', text: changeText },
      ],
      events,
      'Nothing was changed.',
    );
    if (pageToken !== '') output.note('There are older ones; --limit shows more.');
  });
}

function presentEvent({ time, values, refused, detail, attempts, ...event }: AuditEvent) {
  return {
    ...event,
    time: time?.toISOString(),
    values: Object.fromEntries(values.map((value) => [value.field, bothOf(value)])),
    ...(refused !== '' && { refused, detail, attempts }),
  };
}

/** Returns an id with the name beside it. */
function named(id: string, name: string): string {
  return name === '' || name === id ? id : `${id} (${printable(name)})`;
}

/** Returns what was changed, from what to what, or why nothing was. */
function changeText({ fields, values, refused, detail, attempts }: AuditEvent): string {
  if (refused !== '') return `refused${attempts > 1 ? ` ${attempts} times` : ''}: ${printable(detail || refused)}`;
  const all = new Set([...fields, ...values.map(({ field }) => field)]);
  return [...all].map((field) => valueText(field, values)).join(', ');
}
