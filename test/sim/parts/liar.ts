/** The lies of a machine: outcomes and pieces of attempts that are not its own any more, or never were. */
import type { AttemptOutcome, AttemptRef } from '@slipway/proto/gen/slipway/v1/agent_service';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Being } from '../world/being.ts';
import type { World } from '../world/world.ts';
import type { SimLink } from './sim-link.ts';

const LIE_MS = { least: 200, most: 4_000 };
/** Share of repeated attempts of which the earlier one's end is reported late. */
const LATE_SHARE = 0.5;

export class Liar {
  readonly #world: World;
  readonly #machine: string;
  readonly #agent: { life(): Being; link(): SimLink | undefined };
  /** Attempts whose outcome core has, or that were killed: what is said of them now must change nothing. */
  readonly over: AttemptRef[] = [];

  constructor(world: World, machine: string, agent: { life(): Being; link(): SimLink | undefined }) {
    this.#world = world;
    this.#machine = machine;
    this.#agent = agent;
  }

  /** Reports false outcomes, now and later: of one of its ended attempts, or of all attempts of other machines. */
  lie(others: readonly AttemptRef[]): void {
    const world = this.#world;
    const { life, link } = this.#agent;
    const refs = others.length > 0 && world.chance(0.5) ? others : oneOf(world, this.over.slice(-20));
    if (refs.length === 0) return;
    const kind = world.one([OutcomeKind.COMPLETED, OutcomeKind.FAILED, OutcomeKind.LOST, OutcomeKind.RETURNED]);
    const output = Buffer.from(world.chance(0.5) ? '{"token":"lie"}' : '{lie');
    const lies = refs.map((ref): AttemptOutcome => {
      return { ref, kind, error: 'lie', ...(kind === OutcomeKind.COMPLETED && { output }) };
    });
    link()?.send({ outcomes: lies });
    world.after(world.between(LIE_MS.least, LIE_MS.most), life(), () =>
      link()?.send({
        outcomes: [...lies, { ...lies[0]!, ref: { ...refs[0]!, jobId: 'none' } }],
        chunks: refs.map((ref) => ({ ref, number: 1, output: Buffer.from('{"lie":true}') })),
      }),
    );
  }

  /** Sometimes reports the end of an earlier attempt of a job that it runs again. */
  tellOfEarlier(ref: AttemptRef): void {
    const world = this.#world;
    const { life, link } = this.#agent;
    const earlier = this.over.findLast(({ jobId, attempt }) => jobId === ref.jobId && attempt < ref.attempt);
    if (!earlier || !world.chance(LATE_SHARE)) return;
    world.fault('late outcome of an earlier attempt', this.#machine);
    const lied = { ref: earlier, kind: OutcomeKind.COMPLETED, error: 'lie', output: Buffer.from('{"token":"lie"}') };
    world.after(world.between(1, 50), life(), () => link()?.send({ outcomes: [lied] }));
  }
}

/** Returns a list of one item that the seed chooses; an empty list if there are no items. */
function oneOf<Item>(world: World, items: readonly Item[]): readonly Item[] {
  return items.length === 0 ? [] : [world.one(items)];
}
