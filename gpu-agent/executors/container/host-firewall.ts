/**
 * Rules of this host for what comes out of containers' networks: the agent's bridge and the way out, nothing else. They
 * stand in the tables that are passed before those of engines and operators, so that no rule of theirs lets something
 * through first, and they stay while containers run.
 */
import { access, readFile } from 'node:fs/promises';
import type { HostPrograms } from './host-programs.ts';

/** Where workers find the agent. */
export interface BridgeAddress {
  address: string;
  port: number;
}

/** Addresses that a cloud answers with secrets of the machine. */
const LINK_LOCAL = '169.254.0.0/16';
const ANSWERS = '-m conntrack --ctstate ESTABLISHED,RELATED -j RETURN';

export class HostFirewall {
  /** Names of the networks' interfaces start so. */
  readonly #prefix: string;
  readonly #programs: HostPrograms;
  #place: BridgeAddress | undefined;
  #applied = '';
  #isPatient = true;
  #isPaused = false;

  constructor(prefix: string, programs: HostPrograms) {
    this.#prefix = prefix;
    this.#programs = programs;
  }

  /**
   * Sets the rules; they replace those of an earlier run. Rejects when they cannot be set: then no container may start.
   */
  async open(place: BridgeAddress): Promise<void> {
    this.#place = place;
    this.#applied = '';
    await this.refresh();
  }

  /** Follows the host's way out. Before `open` and after `pause` it does nothing. */
  async refresh(): Promise<void> {
    if (!this.#place || this.#isPaused) return;
    const place = this.#place;
    const ways = await waysOut();
    const rules = firewallRules(this.#prefix, place, ways);
    if (rules.ipv4 === this.#applied) return;
    await this.#apply(place, ways);
    await this.#hook('iptables');
    if (
      await access('/proc/net/if_inet6').then(
        () => true,
        () => false,
      )
    ) {
      await this.#programs.run('ip6tables-restore', ['--noflush'], rules.ipv6);
      await this.#hook('ip6tables');
    }
    this.#applied = rules.ipv4;
  }

  /**
   * Who connects to the bridge while nothing listens there waits, instead of being refused: SDKs give up at once what
   * could not be sent. Not on a kernel without the socket match.
   */
  get isPatient(): boolean {
    return this.#isPatient;
  }

  /** From here on nobody connects to the bridge any more: the agent stops, and those who try wait for the next one. */
  async pause(): Promise<void> {
    if (!this.#place || !this.#isPatient) return;
    this.#isPaused = true;
    const { address, port } = this.#place;
    const rule = [
      '-i',
      `${this.#prefix}+`,
      '-d',
      `${address}/32`,
      '-p',
      'tcp',
      '--dport',
      String(port),
      '--syn',
      '-j',
      'DROP',
    ];
    const insert = (): Promise<string> =>
      this.#programs.run('iptables', ['-w', '-t', 'mangle', '-I', chainOf(this.#prefix, 'in'), '1', ...rule]);
    // Another program that changes rules in the same moment makes it fail.
    await insert().catch(insert);
  }

  /** Removes the rules. Never rejects. */
  async close(): Promise<void> {
    for (const program of ['iptables', 'ip6tables']) {
      for (const [table, chain, own] of this.#hooks()) {
        await this.#programs.run(program, ['-w', '-t', table, '-D', chain, '-j', own]).catch(() => undefined);
        await this.#programs.run(program, ['-w', '-t', table, '-F', own]).catch(() => undefined);
        await this.#programs.run(program, ['-w', '-t', table, '-X', own]).catch(() => undefined);
      }
    }
    this.#place = undefined;
  }

  async #apply(place: BridgeAddress, ways: readonly string[]): Promise<void> {
    const restore = (isPatient: boolean): Promise<string> =>
      this.#programs.run('iptables-restore', ['--noflush'], firewallRules(this.#prefix, place, ways, isPatient).ipv4);
    // Another program that changes rules in the same moment makes it fail, too.
    if (this.#isPatient)
      this.#isPatient = await restore(true)
        .catch(() => restore(true))
        .then(
          () => true,
          () => false,
        );
    if (!this.#isPatient) await restore(false);
  }

  /** Leads to our chains, once. */
  async #hook(program: string): Promise<void> {
    for (const [table, chain, own] of this.#hooks()) {
      if (program === 'ip6tables' && table === 'filter') continue;
      const there = await this.#programs.run(program, ['-w', '-t', table, '-C', chain, '-j', own]).then(
        () => true,
        () => false,
      );
      if (!there) await this.#programs.run(program, ['-w', '-t', table, '-I', chain, '1', '-j', own]);
    }
  }

  #hooks(): [table: string, chain: string, own: string][] {
    return [
      ['mangle', 'INPUT', chainOf(this.#prefix, 'in')],
      ['mangle', 'FORWARD', chainOf(this.#prefix, 'forward')],
      ['filter', 'INPUT', chainOf(this.#prefix, 'bridge')],
    ];
  }
}

/** What iptables-restore and ip6tables-restore are given. Pure. */
function firewallRules(
  prefix: string,
  { address, port }: BridgeAddress,
  waysOut: readonly string[],
  isPatient = true,
): { ipv4: string; ipv6: string } {
  const from = `-i ${prefix}+`;
  const to = `-o ${prefix}+`;
  const input = `-A ${chainOf(prefix, 'in')}`;
  const forward = `-A ${chainOf(prefix, 'forward')}`;
  const bridge = `-d ${address}/32 -p tcp --dport ${port}`;
  const ipv4 = [
    '*mangle',
    `:${chainOf(prefix, 'in')} - [0:0]`,
    `:${chainOf(prefix, 'forward')} - [0:0]`,
    `${input} ${from} ${ANSWERS}`,
    // While nothing listens there no answer says so, and the kernel of the worker tries again.
    ...(isPatient
      ? [`${input} ${from} ${bridge} --syn -m socket -j RETURN`, `${input} ${from} ${bridge} --syn -j DROP`]
      : []),
    `${input} ${from} ${bridge} -j RETURN`,
    `${input} ${from} -j DROP`,
    // Nobody else's packets have to do with that address, but for the host's own.
    `${input} -d ${address}/32 ! -i lo -j DROP`,
    `${forward} ${from} ${ANSWERS}`,
    `${forward} ${from} -d ${LINK_LOCAL} -j DROP`,
    ...waysOut.map((name) => `${forward} ${from} -o ${name} -j RETURN`),
    `${forward} ${from} -j DROP`,
    `${forward} ${to} ${ANSWERS}`,
    `${forward} ${to} -m conntrack --ctstate DNAT -j RETURN`,
    `${forward} ${to} -j DROP`,
    'COMMIT',
    // Where an operator's own rules refuse all that is not named.
    '*filter',
    `:${chainOf(prefix, 'bridge')} - [0:0]`,
    `-A ${chainOf(prefix, 'bridge')} ${from} ${bridge} -j ACCEPT`,
    'COMMIT',
    '',
  ];
  const ipv6 = [
    '*mangle',
    `:${chainOf(prefix, 'in')} - [0:0]`,
    `:${chainOf(prefix, 'forward')} - [0:0]`,
    `${input} ${from} -j DROP`,
    `${forward} ${from} -j DROP`,
    `${forward} ${to} -j DROP`,
    'COMMIT',
    '',
  ];
  return { ipv4: ipv4.join('\n'), ipv6: ipv6.join('\n') };
}

function chainOf(prefix: string, what: string): string {
  return `slipway-${prefix}-${what}`;
}

/** Interfaces with a default route: what is behind the others is the host's own. */
async function waysOut(): Promise<string[]> {
  const routes = (await readFile('/proc/net/route', 'utf8').catch(() => ''))
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'));
  return [
    ...new Set(
      routes
        .filter(([, destination, , , , , , mask]) => destination === '00000000' && mask === '00000000')
        .map(([name]) => name!),
    ),
  ].toSorted();
}
