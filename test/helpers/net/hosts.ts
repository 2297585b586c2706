/**
 * Hosts for a test, each a network namespace with a cable to one switch. Hosts end with the test's process, however
 * that ends.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import type { Test } from 'tap';
import { claimNumber } from '../time/claim-number.ts';
import { waitFor } from '../time/wait-for.ts';

const NETWORKS = 250;
/** Number of the test itself in their network. */
const TEST_HOST = 254;

/** A host of the network. */
export interface Host {
  name: string;
  address: string;
  /** Address of the test in their network. */
  testAddress: string;
  /** Command that runs the words behind it on the host. */
  inside: readonly string[];
  /** Cuts the host's link: packets are dropped, and no connection is closed. */
  pull(): void;
  /** Puts the cable back. */
  plug(): void;
}

/** Returns false for tap's `skip` option if this process may make hosts. */
export function skipWithoutHosts(): false | string {
  return process.getuid!() === 0 ? false : 'needs root: it makes network namespaces';
}

function run(...[program, ...args]: readonly [string, ...string[]]): void {
  execFileSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** Starts a process that holds a namespace until its input ends. Returns its pid. */
async function holdNamespace(t: Test): Promise<number> {
  const holder = spawn('unshare', ['--net', 'cat'], { stdio: ['pipe', 'ignore', 'inherit'] });
  const ended = once(holder, 'exit');
  t.teardown(async () => {
    holder.stdin.end();
    await ended;
  });
  const pid = holder.pid!;
  await waitFor('a namespace', () => readlinkSync(`/proc/${pid}/ns/net`) !== readlinkSync('/proc/self/ns/net'));
  return pid;
}

/** Starts hosts. The switch is at the first of them. The test reaches them all. */
export async function startHosts(t: Test, names: readonly string[]): Promise<Host[]> {
  const network = await claimNumber('networks', NETWORKS);
  const addressOf = (number: number): string => `10.213.${network}.${number}`;
  const pids: number[] = [];
  for (const _ of names) pids.push(await holdNamespace(t));
  const inside = (pid: number): [string, ...string[]] => ['nsenter', `--net=/proc/${pid}/ns/net`];
  const ofSwitch = inside(pids[0]!);
  run(...ofSwitch, 'ip', 'link', 'add', 'switch', 'type', 'bridge');
  run(...ofSwitch, 'ip', 'link', 'set', 'switch', 'up');
  const lay = (end: string, number: number, near: readonly string[], pid: number): void => {
    const port = `port${number}`;
    run('ip', 'link', 'add', end, 'netns', String(pid), 'type', 'veth', 'peer', 'name', port, 'netns', String(pids[0]));
    run(...ofSwitch, 'ip', 'link', 'set', port, 'master', 'switch', 'up');
    const [program = 'ip', ...args] = [...near, 'ip'];
    run(program, ...args, 'address', 'add', `${addressOf(number)}/24`, 'dev', end);
    run(program, ...args, 'link', 'set', end, 'up');
  };
  lay(`slw${network}`, TEST_HOST, [], process.pid);
  return names.map((name, index) => {
    const number = index + 1;
    const words = inside(pids[index]!);
    run(...words, 'ip', 'link', 'set', 'lo', 'up');
    lay('eth0', number, words, pids[index]!);
    const cable = (state: 'up' | 'down'): void => run(...ofSwitch, 'ip', 'link', 'set', `port${number}`, state);
    const addresses = { address: addressOf(number), testAddress: addressOf(TEST_HOST) };
    return { name, ...addresses, inside: words, pull: () => cable('down'), plug: () => cable('up') };
  });
}
