/** `slipway secret-key …`: the key that seals secrets in the database, and its exchange. */
import type { SealedRows, SecretKeyState } from '@slipway/proto/gen/slipway/v1/join_service';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';

/** Adds the commands. */
export function addSecretKey(program: Command, cli: Cli): void {
  const group = addCommand(program, {
    usage: 'secret-key',
    description:
      'Show the secret key by its fingerprint, and exchange it while everything runs: start all replicas of core ' +
      'with both keys, then rotate (docs/operate/operations.md). For the operator.',
    examples: ['secret-key list', 'secret-key rotate'],
  });
  addCommand(group, {
    usage: 'list',
    description: 'List the secret keys by their fingerprints, and what is still sealed with the previous one.',
    examples: ['secret-key list', 'secret-key list --json'],
  }).action(async () => {
    const { state } = await cli.operator.joins.call((client) => client.readSecretKeys, {});
    present(cli, state!);
  });
  addCommand(group, {
    usage: 'rotate',
    description:
      'Seal with the key of --next-secret-key-file from now on, and all that is stored anew, in the background.',
    examples: ['secret-key rotate'],
  }).action(async () => {
    const { state } = await cli.operator.joins.call((client) => client.rotateSecretKey, {});
    present(cli, state!);
  });
}

function present({ output }: Cli, state: SecretKeyState): void {
  const { current, previous, next, left } = state;
  output.result(state, () => {
    output.fields([
      ['current', current],
      ['previous', previous],
      ['next', next],
    ]);
    if (previous === '') return output.note('Nothing needs another secret key than the current one.');
    output.table<SealedRows>(
      [
        { title: 'TABLE', text: ({ table }) => table },
        { title: 'COLUMN', text: ({ column }) => column },
        { title: 'ROWS LEFT', text: ({ rows }) => String(rows) },
      ],
      left,
      'Every row is sealed with the current key. Within a minute or two the previous one may go.',
    );
  });
}
