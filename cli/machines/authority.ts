/** `slipway authority …`: the installation's own authority, and its exchange. */
import type { Authority, AuthorityState } from '@slipway/proto/gen/slipway/v1/join_service';
import { AuthorityChange, AuthorityRole } from '@slipway/proto/gen/slipway/v1/join_service';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';

const ROLES: Readonly<Record<AuthorityRole, string>> = {
  [AuthorityRole.UNSPECIFIED]: '',
  [AuthorityRole.CURRENT]: 'current',
  [AuthorityRole.NEXT]: 'next',
  [AuthorityRole.PREVIOUS]: 'previous',
  [AuthorityRole.OPERATOR]: 'of the operator',
};

/** Adds the commands. */
export function addAuthority(program: Command, cli: Cli): void {
  const group = addCommand(program, {
    usage: 'authority',
    description:
      'List the authorities of this installation, by which its parts trust core and core trusts machines, and ' +
      'exchange them without an interruption: rotate, then use, then withdraw (docs/operate/operations.md). For the ' +
      'operator.',
    examples: ['authority list', 'authority rotate', 'authority use', 'authority withdraw'],
  });
  addCommand(group, {
    usage: 'list',
    description: 'List the authorities, and the machines without a certificate of the newer one. For the operator.',
    examples: ['authority list', 'authority list --json'],
  }).action(() => show(cli));
  addStep(group, cli, {
    usage: 'rotate',
    change: AuthorityChange.ROTATE,
    description:
      'Make a new authority. Both are trusted from now on, and machines get certificates of the new one by themselves.',
    next: ({ authorities }) =>
      `Give facades, edges and commands both digests: --core-ca ${pins(authorities)}. Then: slipway authority use`,
  });
  addStep(group, cli, {
    usage: 'use',
    change: AuthorityChange.USE,
    description: 'Let core show certificates of the new authority. Machines that have none of it yet are waited for.',
    next: ({ authorities, openTokens }) =>
      `Once everything runs: slipway authority withdraw; then --core-ca ${pins(authorities.slice(0, 1))} is enough.` +
      (openTokens > 0 ? ` ${openTokens} open tokens carry a digest that core no longer shows: make new ones.` : ''),
  });
  addStep(group, cli, {
    usage: 'withdraw',
    change: AuthorityChange.WITHDRAW,
    description: 'Trust the previous authority no more. Before "use" it gives the new one up.',
    next: ({ authorities }) => `Core is trusted by --core-ca ${pins(authorities)}.`,
  });
}

interface StepOptions {
  usage: string;
  change: AuthorityChange;
  description: string;
  /** Says what the operator does next. */
  next(state: AuthorityState): string;
}

function addStep(group: Command, cli: Cli, { usage, change, description, next }: StepOptions): void {
  addCommand(group, { usage, description: `${description} For the operator.`, examples: [`authority ${usage}`] })
    .option('--force', 'do not wait for machines: machines without a new certificate must join again')
    .action(async ({ force = false }: { force?: boolean }) => {
      const { state } = await cli.operator.joins.call((client) => client.changeAuthority, { change, force });
      present(cli, state!);
      cli.output.note(next(state!));
    });
}

async function show(cli: Cli): Promise<void> {
  const { state } = await cli.operator.joins.call((client) => client.readAuthorities, {});
  present(cli, state!);
}

function present({ output }: Cli, state: AuthorityState): void {
  const { authorities, machinesLeft, machineNames, openTokens } = state;
  const listed = authorities.map(({ digest, role, signs, expireTime }) => ({
    digest: `sha256:${digest}`,
    role: ROLES[role],
    signs,
    endsAt: expireTime?.toISOString(),
  }));
  output.result({ authorities: listed, machinesLeft, machineNames, openTokens }, () => {
    output.table<Authority>(
      [
        { title: 'DIGEST', text: ({ digest }) => `sha256:${digest}` },
        { title: 'ROLE', text: ({ role }) => ROLES[role] },
        { title: 'SIGNS', text: ({ signs }) => (signs ? 'yes' : '') },
        { title: 'ENDS', text: ({ expireTime }) => expireTime?.toISOString() ?? '' },
      ],
      authorities,
      'There is no authority: core speaks no TLS.',
    );
    if (machinesLeft > 0)
      output.note(`Machines without a certificate of the newer one: ${machinesLeft} (${machineNames.join(', ')})`);
  });
}

function pins(authorities: readonly Authority[]): string {
  return authorities
    .filter(({ role }) => role !== AuthorityRole.PREVIOUS)
    .map(({ digest }) => `sha256:${digest}`)
    .join(',');
}
