/** `slipway models`: models of the Hugging Face hub on machines. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { runPart } from '../parts/run-part.ts';
import { agentDataDir } from '../shared/agent-data-dir.ts';
import { WATCH, watched } from '../shared/watch.ts';
import { listModels } from './list-models.ts';

/** Which agent of this machine. */
interface AgentFolders {
  dataDir?: string;
  modelDir?: string;
}

interface ImportOptions extends AgentFolders {
  repo?: string;
  revision?: string;
}

interface RemoveOptions extends AgentFolders {
  commit?: string;
}

const DATA_DIR = ['--data-dir <folder>', "the agent's data folder; default .slipway/joined-agent"] as const;
const MODEL_DIR = ['--model-dir <folder>', "the agent's SLIPWAY_MODEL_DIR; default models in its data folder"] as const;

/** Adds the commands. */
export function addModels(program: Command, cli: Cli): void {
  const models = addCommand(program, {
    usage: 'models',
    description: 'Models of the Hugging Face hub that machines keep for endpoints.',
    examples: ['models list', 'models import ~/.cache/huggingface', 'models remove Qwen/Qwen3-8B'],
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
    .option(...DATA_DIR)
    .option(...MODEL_DIR)
    .action((folder: string, options: ImportOptions) => importModels(cli, folder, options));
  addCommand(models, {
    usage: 'remove <repository>',
    description:
      "Remove a model from this machine's store, unless a worker uses it. The agent notices within 10 seconds.",
    examples: [
      'models remove Qwen/Qwen3-8B',
      'models remove lab/my-model --commit 3f9c --data-dir /var/lib/slipway-agent',
    ],
  })
    .alias('rm')
    .option('--commit <commit>', 'only this commit, whose first digits are enough')
    .option(...DATA_DIR)
    .option(...MODEL_DIR)
    .action(async (repository: string, { commit, ...folders }: RemoveOptions) => {
      const args = ['remove', repository, ...(commit === undefined ? [] : ['--commit', commit])];
      await runPart(cli, { module: '@slipway/gpu-agent/manage-models', args, env: envOf(cli, folders) });
    });
}

async function importModels(cli: Cli, folder: string, { repo, revision, ...folders }: ImportOptions): Promise<void> {
  const { config } = cli;
  const args = [
    'import',
    resolve(config.workingDir, folder),
    ...(repo === undefined ? [] : ['--repo', repo]),
    ...(revision === undefined ? [] : ['--revision', revision]),
  ];
  await runPart(cli, { module: '@slipway/gpu-agent/manage-models', args, env: envOf(cli, folders) });
}

function envOf({ config }: Cli, { dataDir, modelDir }: AgentFolders): Record<string, string> {
  return {
    SLIPWAY_AGENT_DATA_DIR: agentDataDir(config, dataDir),
    ...(modelDir !== undefined && { SLIPWAY_MODEL_DIR: resolve(config.workingDir, modelDir) }),
  };
}
