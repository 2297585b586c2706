/** Payloads beside the session, against a server of the contract with scripted answers. */

import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import type { LargeOutcome } from '@slipway/gpu-agent/attempts/to-core';
import { CoreLink } from '@slipway/gpu-agent/session/core-link';
import { LargePayloads } from '@slipway/gpu-agent/session/large-payloads';
import { createLogger } from '@slipway/kit/log/logger';
import { openServer, systemTransport } from '@slipway/kit/net/channel';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import type {
  AgentServiceServer,
  AttemptOutcome,
  ReportOutcomeRequest,
} from '@slipway/proto/gen/slipway/v1/agent_service';
import { AgentServiceService } from '@slipway/proto/gen/slipway/v1/agent_service';
import { SIDE_STREAM_PIECE_BYTES } from '@slipway/proto/wire/limits';
import type { Test } from 'tap';
import t from 'tap';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { outcomeOf, refOf } from '../make-outcome.ts';

const LARGE = Buffer.alloc(3 * SIDE_STREAM_PIECE_BYTES + 7, 'x');

async function link(t: Test, handlers: Partial<AgentServiceServer>) {
  // Methods without a handler answer UNIMPLEMENTED.
  const server = openServer([[AgentServiceService, handlers as UntypedServiceImplementation]]);
  const core = new CoreLink({
    address: `127.0.0.1:${await systemTransport.listen(server, '127.0.0.1:0')}`,
    key: 'key',
    transport: systemTransport,
  });
  t.teardown(() => {
    core.close();
    server.forceShutdown();
  });
  const large = new LargePayloads({ clock: systemClock, random: systemRandom, logger: createLogger('test', 'silent') });
  t.teardown(() => large.down());
  return { large, core };
}

/** Returns an outcome that can be sent when `ready` says so. */
function outcomeThat(
  jobId: string,
  { isReady = (): boolean => true, onAcknowledged = (): void => {} } = {},
): LargeOutcome {
  const outcome: AttemptOutcome = outcomeOf(jobId, LARGE);
  return { key: jobId, ref: outcome.ref!, isReady, load: async () => outcome, acknowledge: onAcknowledged };
}

/** Records what arrives. Rejects the first `refusals` tries. */
function receiver(refusals = 0) {
  const got: { jobId: string; output: Buffer }[] = [];
  let tries = 0;
  const reportOutcome: AgentServiceServer['reportOutcome'] = (call, answer) => {
    tries += 1;
    const isRefused = tries <= refusals;
    const messages: ReportOutcomeRequest[] = [];
    call.on('data', (message: ReportOutcomeRequest) => messages.push(message));
    call.on('end', () => {
      if (isRefused) return answer({ code: status.UNAVAILABLE, details: 'not now' });
      got.push({ jobId: messages[0]!.outcome!.ref!.jobId, output: Buffer.concat(messages.map(({ piece }) => piece)) });
      answer(null, {});
    });
  };
  return { got, reportOutcome, tries: () => tries };
}

t.test('an outcome arrives whole, is acknowledged once, and is tried again until then', async (t) => {
  const { got, reportOutcome, tries } = receiver(2);
  const { large, core } = await link(t, { reportOutcome });
  let acknowledged = 0;
  large.up(core);
  large.send(
    outcomeThat('a', {
      onAcknowledged: () => {
        acknowledged += 1;
      },
    }),
  );
  await waitFor('its acknowledgement', () => acknowledged > 0);
  t.same([got.length, acknowledged, tries()], [1, 1, 3]);
  t.ok(got[0]!.output.equals(LARGE));
});

t.test('it waits for its chunks and overtakes no other outcome', async (t) => {
  const { got, reportOutcome } = receiver();
  const { large, core } = await link(t, { reportOutcome });
  let ready = false;
  large.up(core);
  large.send(outcomeThat('late', { isReady: () => ready }));
  large.send(outcomeThat('early'));
  await waitFor('the one that may', () => got.length === 1);
  t.same(
    got.map(({ jobId }) => jobId),
    ['early'],
  );
  ready = true;
  large.pump();
  await waitFor('the other', () => got.length === 2);
});

t.test('without a session nothing is sent; it is handed to the next one', async (t) => {
  const { got, reportOutcome } = receiver();
  const { large, core } = await link(t, { reportOutcome });
  large.send(outcomeThat('a'));
  large.up(core);
  large.down();
  large.send(outcomeThat('b'));
  large.up(core);
  large.send(outcomeThat('c'));
  await waitFor('one', () => got.length > 0);
  t.same(
    got.map(({ jobId }) => jobId),
    ['c'],
  );
});

t.test('an input comes in pieces, is retried, or is gone', async (t) => {
  let tries = 0;
  const { large, core } = await link(t, {
    fetchInput: (call) => {
      tries += 1;
      if (call.request.ref!.jobId === 'gone')
        return void call.emit('error', { code: status.NOT_FOUND, details: 'not current' });
      if (tries === 1) return void call.emit('error', { code: status.UNAVAILABLE, details: 'not now' });
      call.write({ piece: Buffer.from('{"a"') });
      call.write({ piece: Buffer.from(':1}') });
      call.end();
    },
  });
  large.up(core);
  t.same(((await large.fetchInput(refOf('a'))) as Buffer[]).map(String), ['{"a"', ':1}']);
  t.equal(tries, 2);
  t.equal(await large.fetchInput(refOf('gone')), 'gone');
  t.equal(tries, 3, 'what core does not know is not asked again');
  large.down();
  await t.rejects(large.fetchInput(refOf('a')), { message: 'there is no session' });
});
