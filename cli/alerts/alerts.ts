/** `slipway alerts`: where problems are sent, and which were. */

import { printable } from '@slipway/kit/log/printable';
import type { AlertRecord, AlertTarget } from '@slipway/proto/gen/slipway/v1/alert_service';
import { AlertTargetKind } from '@slipway/proto/gen/slipway/v1/alert_service';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { RejectedError } from '../failures.ts';
import { oneOf, span, wholeNumber } from '../option-values.ts';
import { ago, moment } from '../output/words.ts';
import { readStdin } from '../read-stdin.ts';
import { WATCH, watched } from '../shared/watch.ts';

const KINDS = { webhook: AlertTargetKind.WEBHOOK, slack: AlertTargetKind.SLACK, email: AlertTargetKind.EMAIL };
const LIMIT = 20;
const LIMIT_MAX = 200;

/** Adds the commands. */
export function addAlerts(program: Command, cli: Cli): void {
  const alerts = addCommand(program, {
    usage: 'alerts',
    description: 'Send problems to a webhook, to Slack or by e-mail, and show which were sent.',
    examples: ['alerts add on-call --kind slack < url.txt', 'alerts list', 'alerts silence on-call --for 2h'],
  });
  addCommand(alerts, {
    usage: 'list',
    description: 'List the problems that were sent, newest first.',
    examples: ['alerts list', 'alerts list --limit 100 --json'],
  })
    .option(...WATCH)
    .option('--limit <number>', `at most this many, 1 to ${LIMIT_MAX}`, wholeNumber(1, LIMIT_MAX), LIMIT)
    .action(watched(cli, ({ limit }: { limit: number }) => listAlerts(cli, limit)));
  addCommand(alerts, {
    usage: 'targets',
    description: 'List the addresses that problems are sent to.',
    examples: ['alerts targets', 'alerts targets --json'],
  }).action(async () => showTargets(cli, await targetsOf(cli)));
  addChanges(alerts, cli);
}

/** Adds the commands that change addresses. A URL comes on stdin: it may be a secret, and options can be seen. */
function addChanges(alerts: Command, cli: Cli): void {
  addCommand(alerts, {
    usage: 'add <name>',
    description:
      'Add an address: a URL or a mail address, read from stdin. A URL is stored encrypted and never shown again.',
    examples: [
      'alerts add on-call --kind slack < url.txt',
      'echo https://pager.example/in | slipway alerts add pager',
      'echo on-call@example.com | slipway alerts add mail --kind email',
    ],
  })
    .option('--kind <kind>', 'format of the messages: webhook, slack or email', oneOf(KINDS), AlertTargetKind.WEBHOOK)
    .action((name: string, { kind }: { kind: AlertTargetKind }) => addTarget(cli, name, kind));
  addCommand(alerts, {
    usage: 'silence <target>',
    description: 'Send nothing to an address, by name or id, for some time; --for 0s ends that.',
    examples: ['alerts silence on-call --for 2h', 'alerts silence on-call --for 0s'],
  })
    .requiredOption('--for <time>', 'how long from now, as 90s, 30m, 2h or 7d; at most 30d', span)
    .action(async (named: string, { for: silenceMs }: { for: number }) => {
      const { id } = await targetNamed(cli, named);
      const { target } = await cli.core.alerts.call((client) => client.silenceAlertTarget, { id, silenceMs });
      showTargets(cli, [target!]);
    });
  addCommand(alerts, {
    usage: 'test <target>',
    description: 'Send a test message to an address, by name or id.',
    examples: ['alerts test on-call'],
  }).action((named: string) => testTarget(cli, named));
  addCommand(alerts, {
    usage: 'delete <target>',
    description: 'Delete an address, by name or id. Messages that wait for it are dropped.',
    examples: ['alerts delete on-call'],
  })
    .alias('rm')
    .action(async (named: string) => {
      const { id, name } = await targetNamed(cli, named);
      await cli.core.alerts.call((client) => client.deleteAlertTarget, { id });
      cli.output.result({ id, deleted: true }, () => cli.output.line(`${name} is removed.`));
    });
}

async function listAlerts(cli: Cli, limit: number): Promise<void> {
  const { output } = cli;
  const { alerts } = await cli.core.alerts.call((client) => client.listAlerts, { limit, pageToken: '' });
  output.result(alerts.map(alertRecord), () =>
    output.table<AlertRecord>(
      [
        { title: 'BEGAN', text: ({ beginTime }) => ago(beginTime, output.nowMs()) },
        { title: 'ENDED', text: ({ endTime }) => (endTime ? ago(endTime, output.nowMs()) : 'lasts') },
        { title: 'ABOUT', text: ({ problem }) => `${problem!.about.toLowerCase()} ${problem!.name || problem!.id}` },
        { title: 'KIND', text: ({ problem }) => problem!.kind },
        { title: 'PROBLEM', text: ({ problem }) => printable(problem!.text) },
      ],
      alerts,
      'No problem was sent. "slipway alerts add --help" shows how to get messages.',
    ),
  );
}

async function addTarget(cli: Cli, name: string, kind: AlertTargetKind): Promise<void> {
  const url = new TextDecoder().decode(await readStdin(cli)).trim();
  const { target } = await cli.core.alerts.call((client) => client.createAlertTarget, { name, kind, url });
  showTargets(cli, [target!]);
  cli.output.note(`Try it: slipway alerts test ${target!.id}`);
}

async function testTarget(cli: Cli, named: string): Promise<void> {
  const { id, name } = await targetNamed(cli, named);
  const { error } = await cli.core.alerts.call((client) => client.testAlertTarget, { id }, { waitMs: 45_000 });
  if (error !== '') throw new RejectedError(`The test message to ${name} was not taken: ${error}.`);
  cli.output.result({ id, taken: true }, () => cli.output.line(`${name} has taken the test message.`));
}

async function targetsOf(cli: Cli): Promise<AlertTarget[]> {
  return (await cli.core.alerts.call((client) => client.listAlertTargets, {})).targets;
}

async function targetNamed(cli: Cli, named: string): Promise<AlertTarget> {
  const found = (await targetsOf(cli)).filter(({ id, name }) => id === named || name === named);
  const [first] = found;
  if (!first)
    throw new RejectedError(`There is no address ${JSON.stringify(named)}; "slipway alerts targets" shows all.`);
  if (found.length === 1) return first;
  throw new RejectedError(`${found.length} addresses are named ${JSON.stringify(named)}; use an id.`);
}

function showTargets({ output }: Cli, targets: readonly AlertTarget[]): void {
  output.result(targets.map(targetRecord), () =>
    output.table<AlertTarget>(
      [
        { title: 'ID', text: ({ id }) => id },
        { title: 'NAME', text: ({ name }) => printable(name) },
        { title: 'KIND', text: ({ kind }) => kindWord(kind) },
        { title: 'ADDRESS', text: ({ host }) => host },
        { title: 'SILENT UNTIL', text: ({ silentUntil }) => moment(silentUntil, output.nowMs()) ?? '' },
        { title: 'LAST TAKEN', text: ({ deliveredTime }) => (deliveredTime ? ago(deliveredTime, output.nowMs()) : '') },
        { title: 'LAST ERROR', text: ({ lastError }) => printable(lastError) },
      ],
      targets,
      'Problems are sent nowhere; "slipway alerts add --help" shows how.',
    ),
  );
}

function kindWord(kind: AlertTargetKind): string {
  return Object.entries(KINDS).find(([, known]) => known === kind)?.[0] ?? '';
}

function targetRecord({ kind, createTime, silentUntil, deliveredTime, ...target }: AlertTarget) {
  return {
    ...target,
    kind: kindWord(kind),
    createdAt: createTime?.toISOString(),
    silentUntil: silentUntil?.toISOString() ?? null,
    deliveredAt: deliveredTime?.toISOString() ?? null,
  };
}

function alertRecord({ id, problem, beginTime, endTime }: AlertRecord) {
  const { id: resourceId, ...facts } = problem!;
  const times = { beganAt: beginTime?.toISOString(), endedAt: endTime?.toISOString() ?? null };
  return { id, resourceId, ...facts, ...times };
}
