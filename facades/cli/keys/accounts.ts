/** `slipway accounts`: owners of keys, templates, endpoints and their jobs. */
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { moment } from '../output/words.ts';

/** Adds the commands. */
export function addAccounts(program: Command, cli: Cli): void {
  const accounts = addCommand(program, {
    usage: 'accounts', description: 'Show the account of the key; create accounts as the operator.',
    examples: ['accounts show', 'accounts create research'],
  });
  addCommand(accounts, { usage: 'show', description: 'Show the account of the key.', examples: ['accounts show', 'accounts show --json'] })
    .action(() => showAccount(cli));
  addCommand(accounts, {
    usage: 'create <name>', description: 'Create an account. The same name again is the same account. For the operator.',
    examples: ['accounts create research', 'keys create admin --account user_2bK…'],
  }).action(async (name: string) => {
    const { accountId } = await cli.operator.access.call((client) => client.createAccount, { name });
    const first = `Make its first key: slipway keys create admin --account ${accountId}`;
    cli.output.result({ id: accountId, name }, () => {
      cli.output.line(accountId);
      cli.output.note(first);
    });
  });
}

async function showAccount(cli: Cli): Promise<void> {
  const { account } = await cli.core.access.call((client) => client.getAccount, {});
  const { id, name, publicKey, createTime } = account!;
  const { output } = cli;
  output.result({ id, name, pubKey: publicKey, createdAt: createTime?.toISOString() }, () => {
    output.fields([['id', id], ['name', name], ['SSH key', publicKey], ['created', moment(createTime, output.nowMs())]]);
  });
}
