/**
 * Networks of containers, which define who can reach what. On Podman each workload has its own network. On Docker they
 * share one, whose members cannot see each other. A firewall of this host does the rest. Workers reach the internet and
 * the agent's bridge, and nothing else of this host.
 */
import { createHash } from 'node:crypto';
import { statusOf } from '../../images/image-store.ts';
import { MACHINE_LABEL, WORKLOAD_LABEL } from './container-plan.ts';
import type { Engine } from './engine.ts';
import { NoEngineError } from './engine.ts';
import { libpod } from './engine-calls.ts';
import type { HostFirewall } from './host-firewall.ts';
import type { HostPrograms } from './host-programs.ts';

/** Options of WorkloadNetworks. */
interface WorkloadNetworksOptions {
  machineId: string;
  firewall: HostFirewall;
  programs: HostPrograms;
  /** The agent is root: it may add an address and rules to the host. */
  asRoot: boolean;
  /** Listens for workers at an address of this host; resolves to the port. Called once for each address. */
  openBridge(address: string): Promise<number>;
}

/** Longest name of a Linux network interface. */
const INTERFACE_LENGTH_MAX = 15;

interface NetworkAnswer {
  subnets?: { gateway?: string }[];
}

export class WorkloadNetworks {
  readonly #options: WorkloadNetworksOptions;
  readonly #prefix: string;
  #bridge: Promise<string> | undefined;
  #engine: Engine | undefined;

  constructor(options: WorkloadNetworksOptions) {
    this.#options = options;
    this.#prefix = interfacePrefix(options.machineId);
  }

  /**
   * Returns the URL at which containers reach the agent's bridge, for instance `http://10.89.0.1:41234`. Rejects with
   * NoEngineError if they could not reach it.
   */
  async bridgeUrl(engine: Engine): Promise<string> {
    this.#engine = engine;
    if (!this.#bridge) {
      const bridge = this.#openBridge(engine);
      this.#bridge = bridge;
      bridge.catch(() => {
        if (this.#bridge === bridge) this.#bridge = undefined;
      });
    }
    return this.#bridge;
  }

  /** Creates the network of a workload if needed, and returns its name. */
  async open(engine: Engine, workloadId: string): Promise<string> {
    await this.bridgeUrl(engine);
    await this.#options.firewall.refresh();
    if (engine.facts.kind === 'docker') return this.#sharedName;
    const name = this.#workloadName(workloadId);
    await createPodmanNetwork(
      engine,
      name,
      { [MACHINE_LABEL]: this.#options.machineId, [WORKLOAD_LABEL]: workloadId },
      interfaceName(this.#prefix, workloadId),
    );
    return name;
  }

  /** Removes a workload's network after its container. Never rejects. */
  async drop(engine: Engine, workloadId: string): Promise<void> {
    if (engine.facts.kind === 'podman')
      await libpod(engine.docker, 'DELETE', `/networks/${this.#workloadName(workloadId)}`).catch(() => undefined);
  }

  /** Removes networks that were left behind by workloads other than these. */
  async sweep(engine: Engine, keep: ReadonlySet<string>): Promise<void> {
    if (engine.facts.kind === 'docker') return;
    const networks = (await libpod(engine.docker, 'GET', '/networks/json')) as { labels?: Record<string, string> }[];
    const own = networks.filter(({ labels }) => labels?.[MACHINE_LABEL] === this.#options.machineId);
    const left = own
      .map(({ labels }) => labels?.[WORKLOAD_LABEL])
      .filter((workloadId) => workloadId !== undefined && !keep.has(workloadId));
    await Promise.all(left.map((workloadId) => this.drop(engine, workloadId!)));
  }

  /** Removes what only workloads need of the host, once none runs any more. Never rejects. */
  async close(): Promise<void> {
    const url = await this.#bridge?.catch(() => undefined);
    this.#bridge = undefined;
    if (!url) return;
    // Engines have few addresses for networks, so the shared one is removed. Its call is the same for both engines.
    await this.#engine?.docker
      .getNetwork(this.#sharedName)
      .remove()
      .catch(() => undefined);
    if (!this.#options.asRoot) return;
    await this.#options.firewall.close();
    await this.#options.programs
      .run('ip', ['address', 'del', `${new URL(url).hostname}/32`, 'dev', 'lo'])
      .catch(() => undefined);
  }

  /**
   * Removes everything that any run of the agent has made, when no workload and no agent runs any more. Rejects if the
   * engine does not respond.
   */
  async clear(engine: Engine): Promise<void> {
    const { docker, facts } = engine;
    await this.sweep(engine, new Set());
    const gateway = facts.kind === 'podman' ? await this.#sharedGateway(engine).catch(() => undefined) : undefined;
    await docker
      .getNetwork(this.#sharedName)
      .remove()
      .catch(() => undefined);
    if (!this.#options.asRoot) return;
    await this.#options.firewall.close();
    if (gateway)
      await this.#options.programs.run('ip', ['address', 'del', `${gateway}/32`, 'dev', 'lo']).catch(() => undefined);
  }

  get #sharedName(): string {
    return `slipway-${this.#prefix}`;
  }

  #workloadName(workloadId: string): string {
    return `slipway-${this.#prefix}-${workloadId}`;
  }

  async #openBridge(engine: Engine): Promise<string> {
    const { facts } = engine;
    const { asRoot, firewall, openBridge, programs } = this.#options;
    if (facts.rootless) {
      throw new NoEngineError(
        `${facts.kind} runs as an ordinary user here, where containers cannot reach the agent: run the agent as ` +
          "root on root's engine",
      );
    }
    const address = facts.kind === 'docker' ? await this.#dockerGateway(engine) : await this.#podmanGateway(engine);
    // A bridge interface of Podman exists only while a container uses it. The host gets the address itself, so that it
    // exists before the first container and after the last.
    if (facts.kind === 'podman') {
      if (!asRoot)
        throw new NoEngineError('containers of a Podman cannot reach an agent that is not root: run the agent as root');
      await programs.run('ip', ['address', 'replace', `${address}/32`, 'dev', 'lo']);
    }
    const port = await openBridge(address);
    if (asRoot) await firewall.open({ address, port });
    return `http://${address}:${port}`;
  }

  /** Keeps one network to reserve the address: no other network gets it, and a restarted agent finds it again. */
  async #podmanGateway(engine: Engine): Promise<string> {
    await createPodmanNetwork(
      engine,
      this.#sharedName,
      { [MACHINE_LABEL]: this.#options.machineId },
      `${this.#prefix}0`,
    );
    return gatewayIn(await this.#sharedGateway(engine));
  }

  async #sharedGateway({ docker }: Engine): Promise<string | undefined> {
    const found = (await libpod(docker, 'GET', `/networks/${this.#sharedName}/json`)) as NetworkAnswer;
    return found.subnets?.[0]?.gateway;
  }

  async #dockerGateway({ docker }: Engine): Promise<string> {
    const name = this.#sharedName;
    const find = async (): Promise<string | undefined> => {
      const { IPAM } = (await docker.getNetwork(name).inspect()) as { IPAM: { Config: { Gateway?: string }[] } };
      return IPAM.Config[0]?.Gateway;
    };
    try {
      return gatewayIn(await find());
    } catch (error) {
      if (statusOf(error) !== 404) throw error;
    }
    await docker.createNetwork({
      Name: name,
      Driver: 'bridge',
      EnableIPv6: false,
      Labels: { [MACHINE_LABEL]: this.#options.machineId },
      Options: {
        'com.docker.network.bridge.enable_icc': 'false',
        'com.docker.network.bridge.name': `${this.#prefix}0`,
      },
    });
    return gatewayIn(await find());
  }
}

/** Returns the prefix of the interface names of one machine's networks; firewall rules match it. */
export function interfacePrefix(machineId: string): string {
  return `sw${createHash('sha256').update(machineId).digest('hex').slice(0, 4)}`;
}

/** Returns the interface name of a workload's network. Ids may differ only in their last character. */
function interfaceName(prefix: string, workloadId: string): string {
  const hash = createHash('sha256').update(workloadId).digest('hex');
  return `${prefix}${hash}`.slice(0, INTERFACE_LENGTH_MAX);
}

function gatewayIn(gateway: string | undefined): string {
  if (!gateway)
    throw new NoEngineError('the container engine gave its network no gateway: workers would not find the agent');
  return gateway;
}

/** Creates a network without names of other containers and without a route to their networks. An existing one stays. */
async function createPodmanNetwork(
  { docker }: Engine,
  name: string,
  labels: Record<string, string>,
  networkInterface: string,
): Promise<void> {
  const body = {
    name,
    labels,
    driver: 'bridge',
    network_interface: networkInterface,
    dns_enabled: false,
    ipv6_enabled: false,
    options: { isolate: 'true' },
  };
  try {
    await libpod(docker, 'POST', '/networks/create', body);
  } catch (error) {
    if (!/already exists|already used/.test((error as Error).message)) throw error;
  }
}
