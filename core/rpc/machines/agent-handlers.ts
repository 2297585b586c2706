/** AgentService: the session's stream, and the side streams for large payloads. */
import type { ServerDuplexStream, ServerWritableStream } from '@grpc/grpc-js';
import type { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import type { Logger } from '@slipway/kit/log/logger';
import type { BudgetMeter } from '@slipway/kit/observe/budget-metrics';
import type {
  AgentServiceServer,
  FetchInputRequest,
  FetchInputResponse,
  SessionRequest,
  SessionResponse,
} from '@slipway/proto/gen/slipway/v1/agent_service';
import { SessionEndReason } from '@slipway/proto/gen/slipway/v1/agent_service';
import { SIDE_STREAM_PIECE_BYTES } from '@slipway/proto/wire/limits';
import type { Access } from '../../access/access.ts';
import type { AgentCredential } from '../../access/agent-key.ts';
import { agentOf, agentOfCertificate, machineOf } from '../../access/agent-key.ts';
import { bindKey } from '../../access/bind-key.ts';
import { keyFromRef } from '../../dispatch/agent-messages.ts';
import { resolveImageDigest } from '../../dispatch/reports/resolve-image-digest.ts';
import { hasNews } from '../../dispatch/session/has-news.ts';
import { Session } from '../../dispatch/session/session.ts';
import type { SessionContext, SessionStream } from '../../dispatch/session/session-context.ts';
import type { Caller } from '../../domain/accounts/permission.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import { invalid } from '../../domain/settings/fields.ts';
import type { Stores } from '../../store/storage.ts';
import { OutcomeBudget } from '../server/outcome-budget.ts';
import { agentUnary, credentialOf, statusOf } from '../server/unary.ts';
import { receiveOutcome } from './receive-outcome.ts';

interface AgentHandlersOptions {
  access: Access;
  keys: Stores['keys'];
  images: Stores['images'];
  /** Called when a key was bound to a machine: notifies all replicas. */
  onBound(keyId: string): void;
  context: SessionContext;
  /** Meters the memory budget of large outcomes. */
  meter: BudgetMeter;
  logger: Logger;
}

/** Returns the handlers of the service. */
export function agentHandlers({
  access,
  keys,
  images,
  onBound,
  context,
  meter,
  logger,
}: AgentHandlersOptions): AgentServiceServer {
  const budget = new OutcomeBudget({ meter });
  return {
    session: (call) => {
      const credential = credentialOf(call);
      const check = (): Promise<Caller> => agentOf(access, credential);
      const bind = async (machineId: string): Promise<void> => bindKey(keys, await check(), machineId, onBound);
      const stream = sessionStream(call, logger);
      // The stream is not read until the key was checked.
      enter(access, credential, context.clock.nowMs())
        .then(() => {
          if (context.table.closed)
            throw new DomainError('UNAVAILABLE', 'This replica is shutting down; connect again.');
          attach(call, new Session(stream, { check, bind }, context), context.activity);
        })
        .catch((error: unknown) => stream.end(error));
    },
    fetchInput: (call) => {
      machineOf(access, credentialOf(call))
        .then((machineId) => sendInput(call, machineId, context))
        .catch((error: unknown) => {
          call.emit('error', statusOf(error, call, logger));
        });
    },
    settleImage: agentUnary(logger, async (request, credential) => {
      const machineId = await machineOf(access, credential);
      return { digest: await resolveImageDigest(images, machineId, request) };
    }),
    settleModel: agentUnary(logger, async (request, credential) =>
      context.modelPeers.settle(await machineOf(access, credential), request),
    ),
    reportOutcome: (call, done) => {
      machineOf(access, credentialOf(call))
        .then((machineId) => receiveOutcome(call, machineId, { ...context, budget }))
        .then(
          () => done(null, {}),
          (error: unknown) => done(statusOf(error, call, logger)),
        );
    },
  };
}

/** Checks a credential at the beginning of a session. */
async function enter(access: Access, credential: AgentCredential, nowMs: number): Promise<void> {
  if (credential.apiKey === '') await agentOfCertificate(access, credential.certificate, nowMs);
  else await agentOf(access, credential);
}

function attach(
  call: ServerDuplexStream<SessionRequest, SessionResponse>,
  session: Session,
  activity: ActivityMonitor,
): void {
  call.on('data', (message: SessionRequest) => {
    if (hasNews(message)) activity.mark();
    session.receive(message);
  });
  call.on('end', () => session.close('the agent ended it', SessionEndReason.UNSPECIFIED));
  call.on('cancelled', () => session.gone());
  call.on('error', () => session.gone());
  if (call.cancelled) session.gone();
}

function sessionStream(call: ServerDuplexStream<SessionRequest, SessionResponse>, logger: Logger): SessionStream {
  return {
    write: (message, left) => {
      if (!call.cancelled) call.write(message, left);
    },
    pause: () => {
      call.pause();
    },
    resume: () => {
      call.resume();
    },
    end: (error) => {
      if (error === undefined) call.end();
      else call.emit('error', statusOf(error, call, logger));
    },
  };
}

async function sendInput(
  call: ServerWritableStream<FetchInputRequest, FetchInputResponse>,
  machineId: string,
  context: SessionContext,
): Promise<void> {
  const key = keyFromRef(call.request.ref, machineId);
  if (!key) throw invalid('ref must name an attempt');
  const input = await context.attempts.readInput(key);
  if (!input) throw new DomainError('NOT_FOUND', 'The attempt is not current any more.');
  for (let at = 0; at < input.length && !call.cancelled; at += SIDE_STREAM_PIECE_BYTES) {
    const more = call.write({ piece: input.subarray(at, at + SIDE_STREAM_PIECE_BYTES) });
    if (!more && !call.cancelled)
      await new Promise<void>((resolve) => {
        call.once('drain', resolve).once('cancelled', resolve);
      });
  }
  call.end();
}
