/** Chooses the replica for an endpoint's submissions, under a manual clock. */

import type { PipelineLink } from '@slipway/facades/core-client/pipeline-link';
import { SubmissionAffinity } from '@slipway/facades/core-client/submission-affinity';
import { Job, JobState } from '@slipway/proto/gen/slipway/v1/job';
import { PipelineReply } from '@slipway/proto/gen/slipway/v1/job_service';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';

/** The members of a link that the affinity uses. */
type Link = Pick<PipelineLink, 'isReady' | 'load'>;
const STAY_MS = 100;

function homesOf(count: number) {
  const links = Array.from(
    { length: count },
    () => ({ isReady: true, load: 0 }) as { -readonly [Name in keyof Link]: Link[Name] },
  );
  const clock = new ManualClock();
  const homes = new SubmissionAffinity(links as unknown as PipelineLink[], clock);
  const pick = (endpointId = 'e'): number => links.indexOf(homes.pick(endpointId) as unknown as Link);
  const reply = (answer: Partial<PipelineReply>): PipelineReply => PipelineReply.fromPartial(answer);
  const taken = (link: number, endpointId = 'e'): void =>
    homes.recordReply(
      endpointId,
      links[link] as unknown as PipelineLink,
      reply({
        reply: { $case: 'submit', value: { job: Job.fromPartial({ state: JobState.IN_PROGRESS }) } },
      }),
    );
  const queued = (link: number, endpointId = 'e'): void =>
    homes.recordReply(
      endpointId,
      links[link] as unknown as PipelineLink,
      reply({
        reply: { $case: 'submit', value: { job: Job.fromPartial({ state: JobState.IN_QUEUE }) } },
      }),
    );
  const waited = (link: number): void =>
    homes.recordReply(
      'e',
      links[link] as unknown as PipelineLink,
      reply({
        wasQueued: true,
        reply: { $case: 'wait', value: { job: Job.fromPartial({ state: JobState.COMPLETED }) } },
      }),
    );
  return { links, clock, pick, taken, queued, waited };
}

t.test('each replica in turn: all get their share', async (t) => {
  const { clock, pick, taken } = homesOf(3);
  const order: number[] = [];
  for (let step = 0; step < 60; step += 1) {
    const link = pick();
    taken(link);
    order.push(link);
    clock.pass(STAY_MS / 10);
  }
  t.same(
    [0, 1, 2].map((link) => order.filter((one) => one === link).length),
    [20, 20, 20],
  );
  t.equal(order.filter((link, place) => place > 0 && link !== order[place - 1]).length, 5, 'six stays');
});

t.test('a replica without a free worker is asked once a second', async (t) => {
  for (const kind of ['queued', 'waited'] as const) {
    const homes = homesOf(3);
    let asked = 0;
    for (let step = 0; step < 100; step += 1) {
      const link = homes.pick();
      if (link === 0) homes.taken(link);
      else {
        homes[kind](link);
        asked += 1;
      }
      homes.clock.pass(STAY_MS);
    }
    // 10 s, two replicas.
    t.ok(asked >= 10 && asked <= 22, `${kind}: ${asked} of 100 waited`);
  }
});

t.test('without a free worker anywhere replicas take turns; one with a free worker is preferred', async (t) => {
  const { clock, pick, queued, taken } = homesOf(2);
  const order: number[] = [];
  for (let step = 0; step < 6; step += 1) {
    order.push(pick());
    queued(order.at(-1)!);
    clock.pass(STAY_MS);
  }
  t.same(new Set(order.slice(-4)).size, 2, order.join());
  clock.pass(1_001);
  const free = pick();
  taken(free);
  t.equal(pick(), free);
});

t.test('a replica that is down gets nothing; without any there is none', async (t) => {
  const { links, pick } = homesOf(2);
  const first = pick();
  links[first]!.isReady = false;
  t.equal(pick(), 1 - first);
  links[1 - first]!.isReady = false;
  t.equal(pick(), -1);
  t.equal(homesOf(1).pick(), 0);
});

t.test('each endpoint has its replica, and they begin at different ones', async (t) => {
  const { pick } = homesOf(2);
  t.not(pick('a'), pick('b'));
  t.equal(pick('a'), pick('a'));
});

t.test('from 256 unanswered calls on the least loaded replica is used', async (t) => {
  const { links, pick } = homesOf(3);
  const home = pick();
  for (const [place, link] of links.entries()) link.load = place === home ? 255 : 10 + place;
  t.equal(pick(), home);
  links[home]!.load = 256;
  t.equal(pick(), home === 0 ? 1 : 0);
});
