/** The checks of a machine on which an agent runs, and their use before it joins. */
import type { Cli } from '../cli.ts';
import { engineChecks } from './engine-check.ts';
import type { Finding } from './finding.ts';
import { gpuChecks } from './gpu-checks.ts';
import { addressCheck, cgroupCheck, diskChecks, memoryCheck, mtuCheck } from './host-checks.ts';

const STYLES = { ok: 'green', warn: 'yellow', fail: 'red' } as const;

/** Returns a finding as lines for people. */
export function findingText({ output }: Cli, { check, status, detail, fix }: Finding): string {
  const line = `${output.style(STYLES[status], status.padEnd(4))}  ${check.padEnd(16)}  ${detail}`;
  return fix === '' ? line : `${line}\n      ${' '.repeat(16)}  → ${fix}`;
}

/** Checks GPUs and container engine. `containers`: the engine, as the agent's option. */
export async function agentChecks(cli: Cli, containers: string | undefined): Promise<Finding[]> {
  const gpus = await gpuChecks(cli);
  return [cgroupCheck(), ...gpus.findings, ...(await engineChecks(cli, containers, gpus.count > 0))];
}

/** Writes what is not as it should be on this machine, before it joins. The agent starts all the same. */
export async function checkBeforeJoining(cli: Cli, dataDir: string, containers: string | undefined): Promise<void> {
  const findings = [
    ...diskChecks(dataDir, cli.clock),
    ...[memoryCheck(), mtuCheck(), addressCheck()],
    ...(await agentChecks(cli, containers)),
  ].filter(({ status }) => status !== 'ok');
  for (const finding of findings) cli.output.note(findingText(cli, finding));
  if (findings.length > 0) cli.output.note('All checks, and those of the way to core: slipway doctor agent');
}
