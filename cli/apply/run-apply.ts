/** Runs `slipway apply`: reads files and account, shows the plan, asks, and carries it out. */
import type { Cli } from '../cli.ts';
import { UsageError } from '../failures.ts';
import { isConfirmed } from '../read-stdin.ts';
import { readAccount } from './account.ts';
import { PlanExecutor } from './execute.ts';
import { jsonSchema } from './json-schema.ts';
import { planApply } from './plan.ts';
import { readDesired } from './read-files.ts';
import { presentPlan, showPlan } from './show-plan.ts';

/** Options of the command, by commander's names. */
export interface ApplyOptions {
  file?: string[];
  dryRun?: true;
  yes?: true;
  prune?: true;
  updateSecrets?: true;
  schema?: true;
}

/** Runs the command. */
export async function runApply(cli: Cli, options: ApplyOptions): Promise<void> {
  const { output } = cli;
  if (options.schema) return output.line(JSON.stringify(jsonSchema(), null, 2));
  cli.mustFinish = options.dryRun !== true;
  if (options.file === undefined) throw new UsageError('Which file? Name it with -f; a folder stands for its *.yaml.');
  const wanted = await readDesired(cli, options.file);
  const account = await readAccount(cli);
  const { prune = false, updateSecrets = false } = options;
  const steps = planApply(cli, wanted, account, { prune, updateSecrets });
  const isDone = steps.every(({ action }) => action === 'keep');
  const isRun = !isDone && !options.dryRun;
  if (isRun && !options.yes) {
    if (output.json) throw new UsageError('--json cannot ask for confirmation: give --yes, or --dry-run.');
    showPlan(output, steps);
    if (!(await isConfirmed(cli, 'Carry this out?'))) return output.note('Nothing was changed.');
  }
  if (isRun) await new PlanExecutor(cli, account).run(steps);
  output.result(presentPlan(steps, isRun), () => {
    if (!isRun || options.yes) showPlan(output, steps);
    const unchanged = isDone ? 'Nothing to change.' : 'Nothing was changed: this was --dry-run.';
    output.note(isRun ? 'Done.' : unchanged);
  });
}
