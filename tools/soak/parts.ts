/** What a soak asks its parts: Node processes through their inspectors, Envoy through its admin interface. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { askAdmin } from '@slipway/edge/admin';
import type { Test } from 'tap';
import { Inspector } from './inspector.ts';

const MIB = 2 ** 20;
/** Opens an inspector on a free port. Its address is in the log of the process. */
export const INSPECTED = { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --inspect=127.0.0.1:0` };
const LISTENING = /^Debugger listening on (ws:\S+)$/m;

export type Inspectors = ReadonlyMap<string, Inspector>;

/** Connects to the inspectors of parts by their names, which their logs have too. They are closed with `t`. */
export async function inspectorsOf(t: Test, folder: string, names: readonly string[]): Promise<Inspectors> {
  const inspectors = new Map<string, Inspector>();
  for (const name of names) {
    const [, address] = LISTENING.exec(readFileSync(join(folder, `${name}.log`), 'utf8')) ?? [];
    if (address === undefined) throw new Error(`${name}.log has no address of an inspector`);
    inspectors.set(name, await Inspector.connect(address));
  }
  t.teardown(() => {
    for (const inspector of inspectors.values()) inspector.close();
  });
  return inspectors;
}

/** Memory of Envoy that is allocated, and its number of statistics. */
interface EnvoyTotals {
  allocatedMib: number;
  statistics: number;
}

/** Asks the Envoy whose data is in the folder. */
export async function askEnvoy(dataDir: string): Promise<EnvoyTotals> {
  const socket = readdirSync(dataDir).find((name) => /^admin-\d\.sock$/.test(name));
  const ask = async (path: string): Promise<string> => (await askAdmin(join(dataDir, socket ?? ''), path)).text;
  const { allocated } = JSON.parse(await ask('/memory')) as { allocated: string };
  return { allocatedMib: Number(allocated) / MIB, statistics: (await ask('/stats')).split('\n').length };
}
