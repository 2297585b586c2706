/** `slipway models`: models of the Hugging Face hub on machines. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { agentDataDir } from '../agent/agent.ts';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { runPart } from '../parts/run-part.ts';
import { WATCH, watched } from '../shared/watch.ts';
import { listModels } from './list-models.ts';

/** Options of an import. */
interface ImportOptions {
  repo?: string;
  revision?: string;
  dataDir?: string;
  modelDir?: string;
}

/** Adds the commands. */
export function addModels(program: Command, cli: Cli): void {
  const models = addCommand(program, {
    usage: 'models',
    description: 'Models of the Hugging Face hub that machines keep for endpoints.',
    examples: ['models list', 'models import ~/.cache/huggingface'],
  });
  addCommand(models, {
    usage: 'list [repository]',
    description: 'List which machine has which model, and how far downloads are. For the operator.',
    examples: ['models list', 'models list Qwen/Qwen3-8B', 'models list --json'],
  })
    .option(...WATCH)
    .action(watched(cli, (repository: string | undefined) => listModels(cli, repository ?? '')));
  addCommand(models, {
    usage: 'import <folder>',
    description:
      "Bring models from a folder into this machine's store, while its agent runs: a cache of the hub (or one " +
      'repository of it), or the files of one model. Contents are verified; the agent finds them within 10 seconds.',
    examples: [
      'models import ~/.cache/huggingface',
      'models import /mnt/usb/hub --repo Qwen/Qwen3-8B',
      'models import ./my-model --repo lab/my-model --revision main --data-dir /var/lib/slipway-agent',
    ],
  })
    .option('--repo <org/name>', 'only this repository; of the files of one model: its name')
    .option('--revision <revision>', 'of the files of one model: the revision under which endpoints ask for it')
    .option('--data-dir <folder>', "the agent's data folder; default .slipway/joined-agent")
    .option('--model-dir <folder>', "the agent's SLIPWAY_MODEL_DIR; default models in its data folder")
    .action((folder: string, options: ImportOptions) => importModels(cli, folder, options));
}

async function importModels(
  cli: Cli,
  folder: string,
  { repo, revision, dataDir, modelDir }: ImportOptions,
): Promise<void> {
  const { config } = cli;
  const args = [
    resolve(config.workingDir, folder),
    ...(repo === undefined ? [] : ['--repo', repo]),
    ...(revision === undefined ? [] : ['--revision', revision]),
  ];
  const env = {
    SLIPWAY_AGENT_DATA_DIR: agentDataDir(config, dataDir),
    ...(modelDir !== undefined && { SLIPWAY_MODEL_DIR: resolve(config.workingDir, modelDir) }),
  };
  await runPart(cli, { module: '@slipway/gpu-agent/import-models', args, env });
}
