/**
 * Firewall rules of this host for packets from containers' networks: the agent's bridge and the way out are allowed,
 * nothing else. The rules are in tables that are evaluated before those of engines and operators, so that none of their
 * rules accepts a packet first. They stay while containers run.
 */
import { access, readFile } from 'node:fs/promises';
import type { HostPrograms } from './host-programs.ts';

/** Address at which workers reach the agent. */
interface BridgeAddress {
  address: string;
  port: number;
}

/** Addresses at which a cloud serves secrets of the machine. */
const LINK_LOCAL = '169.254.0.0/16';
const ANSWERS = '-m conntrack --ctstate ESTABLISHED,RELATED -j RETURN';

export class HostFirewall {
  /** Prefix of the interface names of the networks. */
  readonly #prefix: string;
  readonly #programs: HostPrograms;
  #bridge: BridgeAddress | undefined;
  #applied = '';
  #isPatient = true;
  #isPaused = false;
  /** Changes of rules run one after the other. */
  #changes: Promise<unknown> = Promise.resolve();

  constructor(prefix: string, programs: HostPrograms) {
    this.#prefix = prefix;
    this.#programs = programs;
  }

  /**
   * Sets the rules; they replace those of a previous run. Rejects if they cannot be set: then no container may start.
   */
  async open(bridge: BridgeAddress): Promise<void> {
    this.#bridge = bridge;
    this.#applied = '';
    await this.refresh();
  }

  /** Updates the rules after changes of the host's default routes. Does nothing before `open` and after `pause`. */
  refresh(): Promise<void> {
    return this.#inTurn(() => this.#refresh());
  }

  async #refresh(): Promise<void> {
    if (!this.#bridge || this.#isPaused) return;
    const bridge = this.#bridge;
    const ways = await waysOut();
    const rules = firewallRules(this.#prefix, bridge, ways);
    if (rules.ipv4 === this.#applied) return;
    await this.#apply(bridge, ways);
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
   * Connections to the bridge wait while nothing listens there, instead of being refused: SDKs give up at once on what
   * could not be sent. False on a kernel without the socket match.
   */
  get isPatient(): boolean {
    return this.#isPatient;
  }

  /** Blocks new connections to the bridge because the agent stops: clients wait for the next agent. */
  pause(): Promise<void> {
    return this.#inTurn(() => this.#pause());
  }

  async #pause(): Promise<void> {
    if (!this.#bridge || !this.#isPatient) return;
    this.#isPaused = true;
    const { address, port } = this.#bridge;
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
    // Fails if another program changes rules at the same moment.
    await insert().catch(insert);
  }

  /** Removes the rules. Never rejects. */
  close(): Promise<void> {
    return this.#inTurn(() => this.#close());
  }

  async #close(): Promise<void> {
    for (const program of ['iptables', 'ip6tables']) {
      for (const [table, chain, own] of this.#hooks()) {
        await this.#programs.run(program, ['-w', '-t', table, '-D', chain, '-j', own]).catch(() => undefined);
        await this.#programs.run(program, ['-w', '-t', table, '-F', own]).catch(() => undefined);
        await this.#programs.run(program, ['-w', '-t', table, '-X', own]).catch(() => undefined);
      }
    }
    this.#bridge = undefined;
  }

  /** Makes changes one after the other: two at once could insert a rule twice, or set removed rules again. */
  #inTurn(change: () => Promise<void>): Promise<void> {
    const done = this.#changes.then(change);
    this.#changes = done.catch(() => undefined);
    return done;
  }

  async #apply(bridge: BridgeAddress, ways: readonly string[]): Promise<void> {
    const restore = (isPatient: boolean): Promise<string> =>
      this.#programs.run('iptables-restore', ['--noflush'], firewallRules(this.#prefix, bridge, ways, isPatient).ipv4);
    // Also fails if another program changes rules at the same moment.
    if (this.#isPatient)
      this.#isPatient = await restore(true)
        .catch(() => restore(true))
        .then(
          () => true,
          () => false,
        );
    if (!this.#isPatient) await restore(false);
  }

  /** Inserts the jumps to our chains if they are missing. */
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

/** Returns the input of iptables-restore and ip6tables-restore. Pure. */
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
    // While nothing listens there, no reply says so, and the kernel of the worker tries again.
    ...(isPatient
      ? [`${input} ${from} ${bridge} --syn -m socket -j RETURN`, `${input} ${from} ${bridge} --syn -j DROP`]
      : []),
    `${input} ${from} ${bridge} -j RETURN`,
    `${input} ${from} -j DROP`,
    // No other packets may use that address, except the host's own.
    `${input} -d ${address}/32 ! -i lo -j DROP`,
    `${forward} ${from} ${ANSWERS}`,
    `${forward} ${from} -d ${LINK_LOCAL} -j DROP`,
    ...waysOut.map((name) => `${forward} ${from} -o ${name} -j RETURN`),
    `${forward} ${from} -j DROP`,
    `${forward} ${to} ${ANSWERS}`,
    `${forward} ${to} -m conntrack --ctstate DNAT -j RETURN`,
    `${forward} ${to} -j DROP`,
    'COMMIT',
    // Needed where an operator's own rules reject everything that is not listed.
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

/** Returns the interfaces with a default route: networks behind other interfaces belong to the host. */
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
