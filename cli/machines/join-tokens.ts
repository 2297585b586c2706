/** `slipway machines token`, `tokens`, `revoke-token`: how machines join. */
import type { JoinToken } from '@slipway/proto/gen/slipway/v1/join_service';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { UsageError } from '../failures.ts';
import { collect, oneOf, wholeNumber } from '../option-values.ts';
import { ago } from '../output/words.ts';
import type { JoinForm } from './join-line.ts';
import { JOIN_FORMS, joinLine, UNKNOWN } from './join-line.ts';

interface TokenOptions {
  pool?: string;
  location?: string[];
  uses?: number;
  ttl?: number;
  address?: string;
  for: JoinForm;
}

const USES_MAX = 1_000;
const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Adds the commands below `machines`. */
export function addJoinTokens(machines: Command, cli: Cli): void {
  addCommand(machines, {
    usage: 'token',
    description:
      'Print the line by which a new machine joins. The token in it lets one machine in, within an hour, and carries ' +
      'the digest of the authority that the machine trusts. For the operator.',
    examples: [
      'machines token',
      'machines token --pool rack-2 --location eu-1 --uses 8 --ttl 2d',
      'machines token --for systemd',
    ],
  })
    .option(
      '--pool <name>',
      'pool of the machines that join by it (slipway pools); endpoints choose them with --location pool:NAME',
    )
    .option('--location <location>', 'country code or data centre of machines that name none; may repeat', collect)
    .option('--uses <number>', 'machines that may join by it; default 1', wholeNumber(1, USES_MAX))
    .option('--ttl <time>', 'how long it lasts, such as 30m, 1h or 7d; default 1h', seconds)
    .option('--address <host:port>', 'where the machine reaches core; default: where core says')
    .option('--for <form>', 'how its agent runs: command, systemd or container', oneOf(JOIN_FORMS), JOIN_FORMS.command)
    .action((options: TokenOptions) => createToken(cli, options));
  addCommand(machines, {
    usage: 'tokens',
    description: 'List the tokens by which machines may join, and those of the last week. For the operator.',
    examples: ['machines tokens'],
  }).action(() => listTokens(cli));
  addCommand(machines, {
    usage: 'revoke-token <id>',
    description: 'Let no machine more in by a token; machines that have joined by it stay. For the operator.',
    examples: ['machines revoke-token 4kq0c2m9w1zp'],
  }).action((id: string) => revokeToken(cli, id));
}

async function createToken(cli: Cli, options: TokenOptions): Promise<void> {
  const { pool = '', location: locations = [], uses: usesMax, ttl: ttlSeconds, address } = options;
  const request = { pool, locations, usesMax, ttlSeconds };
  const { token, text, addresses } = await cli.operator.joins.call((client) => client.createJoinToken, request);
  const join = address ?? addresses[0] ?? UNKNOWN;
  const line = joinLine(options.for, { address: join, token: text });
  const machines = token!.usesMax === 1 ? 'one machine' : `${token!.usesMax} machines`;
  const { output } = cli;
  output.result({ id: token!.id, token: text, addresses, line, expiresAt: token!.expireTime?.toISOString() }, () => {
    output.line(line);
    output.note(
      `For ${machines}, until ${token!.expireTime?.toISOString()}; shown only this once. ` +
        (options.for === 'command' ? 'An agent that is root also needs --worker-user per-account. ' : '') +
        'The data folder keeps the identity, so that later starts do not need the token.',
    );
    if (addresses.length > 1) output.note(`Core is also at ${addresses.slice(1).join(', ')}.`);
  });
}

async function listTokens(cli: Cli): Promise<void> {
  const { tokens } = await cli.operator.joins.call((client) => client.listJoinTokens, {});
  const { output } = cli;
  output.result(tokens.map(presentToken), () =>
    output.table<JoinToken>(
      [
        { title: 'ID', text: ({ id }) => id },
        { title: 'STATE', text: stateOf },
        { title: 'POOL', text: ({ pool }) => pool },
        { title: 'LOCATIONS', text: ({ locations }) => locations.join(', ') },
        { title: 'USES', text: ({ uses, usesMax }) => `${uses} of ${usesMax}`, right: true },
        { title: 'CREATED', text: ({ createTime }) => ago(createTime, output.nowMs()) },
        { title: 'ENDS', text: ({ expireTime }) => expireTime?.toISOString() ?? '' },
      ],
      tokens,
      'There are no tokens.',
    ),
  );
}

async function revokeToken(cli: Cli, id: string): Promise<void> {
  await cli.operator.joins.call((client) => client.revokeJoinToken, { id });
  cli.output.result({ id, revoked: true }, () => cli.output.line(`Token ${id} is revoked.`));
}

function stateOf({ open, uses, usesMax, revokeTime }: JoinToken): string {
  if (open) return 'open';
  if (revokeTime) return 'revoked';
  return uses >= usesMax ? 'used' : 'expired';
}

function presentToken(token: JoinToken) {
  const { id, pool, locations, uses, usesMax, createTime, expireTime } = token;
  return {
    id,
    state: stateOf(token),
    ...(pool && { pool }),
    locations,
    uses,
    usesMax,
    createdAt: createTime?.toISOString(),
    expiresAt: expireTime?.toISOString(),
  };
}

/** Reads a time such as 30m. */
function seconds(text: string): number {
  const [, number, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (number === undefined || unit === undefined)
    throw new UsageError(`--ttl is ${text}, but must be as 30m, 1h or 7d.`);
  return Number(number) * UNITS[unit]!;
}
