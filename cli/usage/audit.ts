/** `slipway audit`: the trail of changes and their authors. */

import type { AuditEvent } from '@slipway/proto/gen/slipway/v1/audit_service';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { wholeNumber } from '../option-values.ts';
import { ago } from '../output/words.ts';

interface AuditOptions {
  limit: number;
  subject?: string;
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
    description: 'List changes and who made them, newest first. Needs a key with all permissions.',
    examples: ['audit', 'audit --subject cvedjim4ix3lzj --limit 500 --json'],
  })
    .option('--limit <number>', `at most this many, 1 to ${LIMIT_MAX}`, wholeNumber(1, LIMIT_MAX), LIMIT)
    .option('--subject <id>', 'only changes of this endpoint, template, key, …')
    .option('--all', 'changes in all accounts; for the operator')
    .option('--account <id>', 'changes in this account; for the operator')
    .action((options: AuditOptions) => listEvents(cli, options));
}

async function listEvents(
  cli: Cli,
  { limit, subject = '', all = false, account: accountId }: AuditOptions,
): Promise<void> {
  const core = all || accountId !== undefined ? cli.operator : cli.core;
  const events: AuditEvent[] = [];
  let pageToken = '';
  do {
    const request = { pageSize: Math.min(limit - events.length, PAGE_MAX), pageToken, subjectId: subject, accountId };
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
        { title: 'SUBJECT', text: ({ subjectId }) => subjectId },
        { title: 'KEY', text: ({ keyId }) => keyId },
        { title: 'FIELDS', text: ({ fields }) => fields.join(', ') },
      ],
      events,
      'Nothing was changed.',
    );
    if (pageToken !== '') output.note('There are older ones; --limit shows more.');
  });
}

function presentEvent({ id, time, keyId, action, subjectId, fields, accountId }: AuditEvent) {
  return { id, time: time?.toISOString(), keyId, action, subjectId, fields, accountId };
}
