/** Runs a soak: the load, the samples, and the checks at its end. */
import { readdirSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ProcessLog } from '@slipway/dev/processes/process-log';
import { endpointJobs } from '@slipway/test/helpers/system/endpoint-jobs';
import type { Test } from 'tap';
import type { Inventory } from './growth.ts';
import { growthBetween, takeInventory } from './growth.ts';
import { jobClient } from './job-client.ts';
import { otherKinds, queuedKinds, waitingKinds } from './kinds.ts';
import { Ledger } from './ledger.ts';
import { MixedLoad } from './load.ts';
import type { SoakOptions } from './options.ts';
import type { Inspectors } from './parts.ts';
import { inspectorsOf } from './parts.ts';
import type { Subject } from './sample.ts';
import { largestTables, takeHeaps, takeSample } from './sample.ts';
import type { SoakSystem } from './soak-system.ts';
import { startSoakSystem } from './soak-system.ts';
import type { Point } from './trend.ts';

const MS_PER_MINUTE = 60_000;
/** Tables are chosen by size at this share of the time. */
const TABLES_CHOSEN_AT = 0.05;
/** Heaps are collected and measured at this share of the time, again and again. */
const HEAPS_EACH = 1 / 15;

/** Result of a soak. */
export interface Soak {
  minutes: number;
  /** Values by subject and name. */
  series: Record<Subject, Record<string, Point[]>>;
  /** Requests sent, by kind. */
  sent: Record<string, number>;
  omitted: number;
  acceptedJobs: number;
  faults: string[];
  /** With `explain`: what is alive at the end, and was not in the middle. */
  growth?: string;
}

/** Starts a system, loads it, and returns what was measured. Says each minute where it stands. */
export async function soak(
  t: Test,
  options: SoakOptions,
  parts: { isEdge: boolean; isPython: boolean },
  say: (text: string) => void,
): Promise<Soak> {
  const system = await startSoakSystem(t, parts);
  const ledger = new Ledger();
  const client = jobClient(system, ledger);
  const all = [...waitingKinds(system, client), ...queuedKinds(system, client, ledger), ...otherKinds(system)];
  const kinds = all.map((kind) => ({
    ...kind,
    perSecond: kind.perSecond * options.rate,
  }));
  const load = new MixedLoad(kinds, ledger);
  const inspectors = await inspectorsOf(
    t,
    system.folder,
    [...system.cores, ...system.facades, ...system.agents].map(({ name }) => name),
  );
  const measured = await load.during(() => sampleAll({ system, load, ledger, inspectors }, options, say));
  await checkEnds(system, ledger);
  return {
    minutes: options.minutes,
    ...measured,
    sent: Object.fromEntries(load.sent),
    omitted: load.omitted,
    acceptedJobs: ledger.size,
    faults: ledger.faults(),
  };
}

interface Running {
  system: SoakSystem;
  load: MixedLoad;
  ledger: Ledger;
  inspectors: Inspectors;
}

async function sampleAll(
  { system, load, ledger, inspectors }: Running,
  { minutes, everySeconds, explain }: SoakOptions,
  say: (text: string) => void,
): Promise<Pick<Soak, 'series' | 'growth'>> {
  const series = {} as Soak['series'];
  const beganMs = performance.now();
  const minute = (): number => (performance.now() - beganMs) / MS_PER_MINUTE;
  let tables = new Set<string>();
  let said = 0;
  let heapsAt = 0;
  let middle: Inventory | undefined;
  const inventory = (): Promise<Inventory> => load.paused(() => takeInventory(system, inspectors));
  for (let number = 1; minute() < minutes; number += 1) {
    await delay(Math.max(0, number * everySeconds * 1_000 - (performance.now() - beganMs)));
    const at = minute();
    if (tables.size === 0 && at >= minutes * TABLES_CHOSEN_AT) tables = await largestTables(system);
    rotateLogs(system.folder);
    const { count, p50Ms, p99Ms } = load.takeLatencies();
    const sample = {
      ...(await takeSample(system, tables)),
      heap: at >= heapsAt ? await takeHeaps(system, inspectors) : {},
      latency: { p50: p50Ms, p99: p99Ms },
      work: { 'requests/s': count / everySeconds, 'load of the machine': loadavg()[0]!, faults: ledger.faultCount },
    };
    for (const [subject, values] of Object.entries(sample) as [Subject, Record<string, number>][])
      for (const [name, value] of Object.entries(values))
        ((series[subject] ??= {})[name] ??= []).push({ minute: at, value });
    if (at >= heapsAt) heapsAt = at + minutes * HEAPS_EACH;
    if (explain && at >= minutes / 2) middle ??= await inventory();
    if (Math.floor(at) <= said) continue;
    said = Math.floor(at);
    say(
      `minute ${said} of ${minutes}: ${(count / everySeconds).toFixed(0)} requests/s, p50 ${p50Ms.toFixed(0)} ms, ` +
        `p99 ${p99Ms.toFixed(0)} ms, core ${sample.memory['core']?.toFixed(0)} MiB, ` +
        `tables ${sample.tables['all']?.toFixed(0)} MiB, ${ledger.faultCount} faults`,
    );
  }
  if (!middle) return { series };
  return { series, growth: growthBetween(middle, await inventory()) };
}

/** Rotates logs as the launcher does while processes run. */
function rotateLogs(folder: string): void {
  for (const name of readdirSync(folder)) if (name.endsWith('.log')) new ProcessLog(join(folder, name)).rotate();
}

/** Checks that every accepted job ended with one outcome, and that core counted each once. */
async function checkEnds(system: SoakSystem, ledger: Ledger): Promise<void> {
  for (const { id, status } of system.furtherWebhooks()) ledger.ended(id, status);
  for (const id of ledger.open()) ledger.fault('end', `job ${id} has no known end`);
  for (const id of [system.ids.js, system.ids.python, system.ids.zero]) {
    const counts = ledger.counts(id);
    const wanted = { completed: counts['COMPLETED'] ?? 0, failed: counts['FAILED'] ?? 0, inProgress: 0, inQueue: 0 };
    await endpointJobs(system, id)
      .counted(wanted)
      .catch((error: unknown) => ledger.fault('counters', `endpoint ${id}: ${(error as Error).message}`));
  }
}
