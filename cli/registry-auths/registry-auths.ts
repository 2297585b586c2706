/** `slipway registry-auths`: credentials for private container registries. */

import { presentRegistryAuth } from '@slipway/facades/resources/registry-auths/present-registry-auth';
import type { RegistryAuth } from '@slipway/proto/gen/slipway/v1/registry_auth_service';
import { allPages } from '@slipway/proto/wire/pages';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { ago } from '../output/words.ts';
import { readStdin } from '../read-stdin.ts';
import { WATCH, watched } from '../shared/watch.ts';

interface Credentials {
  username: string;
}

const USERNAME = ['--username <name>', 'name at the registry'] as const;

/** Adds the commands. Passwords come on stdin: an option could be seen by everyone on the machine. */
export function addRegistryAuths(program: Command, cli: Cli): void {
  const auths = addCommand(program, {
    usage: 'registry-auths',
    description: 'Create, list, replace and delete credentials for container registries.',
    examples: ['registry-auths list', 'registry-auths create ghcr --username me < password.txt'],
  });
  addCommand(auths, {
    usage: 'list',
    description: 'List the credentials, without their secrets.',
    examples: ['registry-auths list --json'],
  })
    .option(...WATCH)
    .action(
      watched(cli, async () => {
        const registryAuths = await allPages(
          (page) => cli.core.registryAuths.call((client) => client.listRegistryAuths, page),
          ({ registryAuths }) => registryAuths,
        );
        show(cli, registryAuths, registryAuths.map(presentRegistryAuth));
      }),
    );
  addCommand(auths, {
    usage: 'create <name>',
    description: 'Store credentials. The password or token is read from stdin.',
    examples: ['registry-auths create ghcr --username me < password.txt'],
  })
    .requiredOption(...USERNAME)
    .action(async (name: string, { username }: Credentials) => {
      const request = { name, username, password: await readPassword(cli) };
      const { registryAuth } = await cli.core.registryAuths.call((client) => client.createRegistryAuth, request);
      show(cli, [registryAuth!], presentRegistryAuth(registryAuth!));
    });
  addCommand(auths, {
    usage: 'update <id>',
    description:
      'Replace name and password. The password is read from stdin. Running workers and pods keep the old credentials.',
    examples: ['registry-auths update a81x0c2m9w1z --username me < password.txt'],
  })
    .requiredOption(...USERNAME)
    .action(async (id: string, { username }: Credentials) => {
      const request = { id, username, password: await readPassword(cli) };
      const { registryAuth } = await cli.core.registryAuths.call((client) => client.updateRegistryAuth, request);
      show(cli, [registryAuth!], presentRegistryAuth(registryAuth!));
    });
  addCommand(auths, {
    usage: 'delete <id>',
    description: 'Delete credentials that nothing uses.',
    examples: ['registry-auths delete a81x0c2m9w1z'],
  }).action(async (id: string) => {
    await cli.core.registryAuths.call((client) => client.deleteRegistryAuth, { id });
    cli.output.result({ id, deleted: true }, () => cli.output.line(`Credentials ${id} are deleted.`));
  });
}

/** Reads the password, without the line end of a file or of `echo`. */
async function readPassword(cli: Cli): Promise<string> {
  return (await readStdin(cli)).toString('utf8').replace(/\r?\n$/, '');
}

function show({ output }: Cli, auths: readonly RegistryAuth[], document: unknown): void {
  output.result(document, () =>
    output.table<RegistryAuth>(
      [
        { title: 'ID', text: ({ id }) => id },
        { title: 'NAME', text: ({ name }) => name },
        { title: 'CREATED', text: ({ createTime }) => ago(createTime, output.nowMs()) },
      ],
      auths,
      'There are no registry credentials.',
    ),
  );
}
