/** Runs `slipway doctor`: makes the checks of a part, and shows each as it is done. */

import { resolve } from 'node:path';
import type { Cli } from '../cli.ts';
import { EXIT } from '../failures.ts';
import { count } from '../output/words.ts';
import { agentDataDir } from '../shared/agent-data-dir.ts';
import { coreChecks } from './core-checks.ts';
import type { Finding } from './finding.ts';
import { addressCheck, diskChecks, memoryCheck, mtuCheck, portCheck } from './host-checks.ts';
import { agentChecks, findingText } from './machine-checks.ts';

/** Options of the command. */
export interface DoctorOptions {
  join?: string;
  dataDir?: string;
  containers?: string;
}

/** A part that runs here. */
export type Part = 'agent' | 'core' | 'facade' | 'edge';

/** Where parts listen by default. */
const PORTS: Readonly<Partial<Record<Part, number>>> = { core: 50_051, facade: 8_080, edge: 8_443 };

/** Runs the command. Its exit code is 1 if something fails. */
export async function examine(cli: Cli, part: Part | undefined, options: DoctorOptions): Promise<void> {
  const { output, config, targetOptions } = cli;
  const core = options.join ?? targetOptions.core;
  if (core !== undefined) cli.setOptions({ ...targetOptions, core, json: output.json });
  const findings: Finding[] = [];
  const add = (...more: Finding[]): void => {
    findings.push(...more);
    if (!output.json) for (const finding of more) output.line(findingText(cli, finding));
  };
  // A core checks itself: it needs no way to another one.
  if (part !== 'core') add(...(await coreChecks(cli, part === undefined)));
  if (part !== undefined) {
    const folder = options.dataDir === undefined ? folderOf(cli, part) : resolve(config.workingDir, options.dataDir);
    if (folder !== undefined) add(...diskChecks(folder, cli.clock));
    add(memoryCheck(), mtuCheck(), addressCheck());
    const port = PORTS[part];
    if (port !== undefined) add(await portCheck(`slipway ${part}`, '127.0.0.1', port));
  }
  if (part === 'agent') add(...(await agentChecks(cli, options.containers)));
  const failed = findings.filter(({ status }) => status === 'fail').length;
  const warned = findings.filter(({ status }) => status === 'warn').length;
  if (failed > 0) cli.exitCode = EXIT.refused;
  output.result({ ok: failed === 0, checks: findings }, () =>
    output.note(failed + warned === 0 ? 'All is well.' : `${count(failed, 'failure')}, ${count(warned, 'warning')}.`),
  );
}

/** Returns the folder that a part writes to. `undefined`: it keeps nothing. */
function folderOf({ config }: Cli, part: Part): string | undefined {
  if (part === 'agent') return agentDataDir(config, undefined);
  return part === 'edge' ? resolve(config.workingDir, '.slipway/edge') : undefined;
}
