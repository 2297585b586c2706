/** The faults of `npm run chaos`. Each begins, and ends after a while; the same part has one at a time. */
import type { Child } from '../../helpers/child.ts';
import type { SeededRandom } from '../../helpers/time/seeded-random.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import type { ChaosSystem } from './chaos-system.ts';

/** How long a process hangs or a link is cut, in milliseconds: shorter and longer than a lease. */
const HANG_MS_MAX = 15_000;
/** Connections cut at once, at most. */
const CUTS_MAX = 12;
/** How long no name is found, in milliseconds. */
const NAMES_MS_MAX = 8_000;
const TAKEOVER_MS_MAX = 180_000;

/** A fault that has begun. */
export interface Fault {
  what: string;
  end: Promise<unknown>;
}

type Kind = () => Promise<Fault>;

async function passed(ms: number): Promise<void> {
  const fromMs = performance.now();
  await waitFor(`${ms} ms`, () => performance.now() - fromMs >= ms);
}

/** Returns a function that begins a random fault, and one that waits for the end of all. */
export function faultsOf(system: ChaosSystem, random: SeededRandom) {
  const ends = new Map<unknown, Promise<unknown>>();
  /** Begins a fault of a part when its previous one is over. `begin` returns the fault's end. */
  const on = async (part: unknown, what: string, begin: () => Promise<Promise<unknown>[]>): Promise<Fault> => {
    await ends.get(part);
    const end = Promise.all(await begin());
    ends.set(part, end);
    // A failed end is thrown by whoever waits for it.
    end.catch(() => undefined);
    return { what, end };
  };
  const kinds: Kind[] = [
    ...ofProcesses(system, random, on),
    ...ofNetwork(system, random, on),
    ...ofDatabase(system, random, on),
  ];
  return {
    begin: (): Promise<Fault> => random.one(kinds)(),
    ended: async (): Promise<void> => void (await Promise.all(ends.values())),
  };
}

type On = (part: unknown, what: string, begin: () => Promise<Promise<unknown>[]>) => Promise<Fault>;

function ofProcesses({ slipway, podman }: ChaosSystem, random: SeededRandom, on: On): Kind[] {
  const { agents, cores, facades, edge } = slipway;
  const children: Child<unknown>[] = [...agents, ...cores, ...facades, ...(edge ? [edge] : [])];
  const kill: Kind = () => {
    const victim = random.one(children);
    return on(victim, `${victim.name} killed`, async () => {
      await victim.kill();
      return [victim.start()];
    });
  };
  const hang: Kind = () => {
    const victim = random.one(children);
    const ms = random.below(HANG_MS_MAX);
    return on(victim, `${victim.name} hangs for ${ms} ms`, async () => {
      const { pid } = victim;
      process.kill(pid, 'SIGSTOP');
      return [passed(ms).finally(() => process.kill(pid, 'SIGCONT'))];
    });
  };
  if (!podman) return [kill, kill, hang];
  const engine: Kind = () =>
    on(podman, 'Podman killed', async () => {
      await podman.killService();
      return [podman.startService()];
    });
  return [kill, kill, hang, engine];
}

function ofNetwork({ slipway, proxies, agentHosts }: ChaosSystem, random: SeededRandom, on: On): Kind[] {
  const cutSome = (): number => {
    const cuts = 1 + random.below(CUTS_MAX);
    for (let n = 0; n < cuts; n += 1) random.one(proxies).cut(random.fraction(), 'RESET');
    return cuts;
  };
  const cut: Kind = async () => ({ what: `${cutSome()} connections cut`, end: Promise.resolve() });
  const names: Kind = () => {
    const victim = random.one(slipway.cores);
    const ms = random.below(NAMES_MS_MAX);
    return on(victim, `${victim.name} killed, no name found for ${ms} ms`, async () => {
      await slipway.failNames(true);
      await victim.kill();
      cutSome();
      return [victim.start(), passed(ms).then(() => slipway.failNames(false))];
    });
  };
  const partition: Kind = () => {
    const host = random.one(agentHosts);
    const ms = random.below(HANG_MS_MAX);
    return on(host, `${host.name} cut off for ${ms} ms`, async () => {
      host.pull();
      return [passed(ms).finally(() => host.plug())];
    });
  };
  return [cut, names, ...(agentHosts.length > 0 ? [partition, partition] : [])];
}

function ofDatabase({ slipway, database }: ChaosSystem, random: SeededRandom, on: On): Kind[] {
  if (!database)
    return [
      () =>
        on(slipway.database, 'PostgreSQL killed', async () => {
          await slipway.database.kill();
          return [slipway.database.start()];
        }),
    ];
  const { nodes, primary, isWhole, hosts } = database;
  const ways = ['PostgreSQL of the primary killed', 'its host killed', 'its host cut off', 'switchover'] as const;
  return [
    () => {
      const way = random.one(ways);
      return on(database, `takeover: ${way}`, async () => {
        await waitFor('a synchronous standby', isWhole, TAKEOVER_MS_MAX);
        const node = await waitFor('the primary', primary, TAKEOVER_MS_MAX);
        const other = nodes.find((each) => each !== node)!;
        const host = hosts.find(({ name }) => name === node.name)!;
        if (way === 'its host cut off') host.pull();
        else if (way === 'switchover') await node.switchOver(other);
        else if (way === 'its host killed') node.signalAll('SIGKILL');
        else node.signalDatabase('SIGKILL');
        const over = async (): Promise<void> => {
          const tookOver = async (): Promise<boolean> => (await other.role()) === 'primary';
          await waitFor('another primary', tookOver, TAKEOVER_MS_MAX).finally(() => host.plug());
          if (way === 'its host killed') node.start();
          await waitFor('a synchronous standby again', isWhole, TAKEOVER_MS_MAX);
        };
        return [over()];
      });
    },
  ];
}
