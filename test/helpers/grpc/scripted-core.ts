/**
 * A minimal core for one real agent: it sends desired states and jobs over the session protocol and records outcomes.
 * It decides nothing.
 */
import type { ServerDuplexStream, UntypedServiceImplementation } from '@grpc/grpc-js';
import { openServer, systemTransport } from '@slipway/kit/net/channel';
import type {
  AgentServiceServer,
  Hello,
  SessionRequest,
  WorkerReport,
} from '@slipway/proto/gen/slipway/v1/agent_service';
import { AgentServiceService, DesiredWorkers, SessionResponse } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { StandbyLevel } from '@slipway/proto/gen/slipway/v1/machine';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { Test } from 'tap';
import { PATIENCE_MS, waitFor } from '../time/wait-for.ts';

/** A lease that outlasts any test, so that a machine is not lost while its agent is killed and restarted. */
const WELCOME = { sessionId: 'session', heartbeatPeriodMs: 500, leaseMs: 600_000, modelPeerKey: Buffer.alloc(32) };

const ENDED: ReadonlySet<WorkerState> = new Set([WorkerState.UNHEALTHY, WorkerState.STOPPED]);

type Session = ServerDuplexStream<SessionRequest, SessionResponse>;
type Desired = NonNullable<Parameters<typeof DesiredWorkers.fromPartial>[0]['workers']>;

export type ScriptedCore = Awaited<ReturnType<typeof startScriptedCore>>;

/** Starts it; it stops with the test. */
export async function startScriptedCore(t: Test) {
  let session: Session | undefined;
  let hello: Hello | undefined;
  let desired = DesiredWorkers.fromPartial({});
  const reports = new Map<string, WorkerReport>();
  /** By job: outputs, or errors, in the order of arrival. */
  const outcomes = new Map<string, string[]>();
  const send = (message: Parameters<typeof SessionResponse.fromPartial>[0]): void => {
    session?.write(SessionResponse.fromPartial(message));
  };
  const receive = (message: SessionRequest): void => {
    if (message.hello) {
      hello = message.hello;
      send({ welcome: WELCOME, desired });
    }
    if (message.heartbeat) send({ heartbeat: message.heartbeat });
    for (const report of [...(message.hello?.workers ?? []), ...message.workers]) reports.set(report.workerId, report);
    for (const { ref, output, error } of message.outcomes) {
      const text = error || String(Buffer.from(output ?? []));
      outcomes.set(ref!.jobId, [...(outcomes.get(ref!.jobId) ?? []), text]);
      send({ outcomeAcks: [ref!] });
    }
  };
  const handlers: Partial<AgentServiceServer> = {
    session: (call) => {
      session = call;
      call.on('data', receive);
      call.on('error', () => undefined);
      call.on('end', () => call.end());
    },
    settleImage: ({ request }, answer) => answer(null, { digest: request.digest }),
  };
  const server = openServer([[AgentServiceService, handlers as UntypedServiceImplementation]]);
  const address = `127.0.0.1:${await systemTransport.listen(server, '127.0.0.1:0')}`;
  t.teardown(() => server.forceShutdown());

  return {
    address,
    hello: (): Hello | undefined => hello,
    report: (workerId: string): WorkerReport | undefined => reports.get(workerId),
    /** Desires these workers and no others. */
    desire: (workers: Desired): void => {
      desired = DesiredWorkers.fromPartial({ workers });
      send({ desired });
    },
    /** Resolves with the report when a worker has this state at this level. */
    reaches: (workerId: string, state: WorkerState, level: StandbyLevel): Promise<WorkerReport> =>
      waitFor(
        `worker ${workerId} to be ${state} at ${level}`,
        () => {
          const report = reports.get(workerId);
          if (report && report.state !== state && ENDED.has(report.state))
            throw new Error(`it ended: ${report.reason}`);
          return report?.state === state && report.standbyLevel === level && report;
        },
        PATIENCE_MS,
      ),
    /** Gives a worker a job. Resolves with its outputs when one has arrived. */
    run: async (endpointId: string, workerId: string, jobId: string, input: unknown): Promise<string[]> => {
      const bytes = Buffer.from(JSON.stringify(input));
      await waitFor('a free slot', () => (reports.get(workerId)?.capacity ?? 0) > 0, PATIENCE_MS);
      send({
        assignments: [{ ref: { endpointId, jobId, workerId, attempt: 1 }, input: bytes, inputSize: bytes.length }],
      });
      return waitFor(`the outcome of ${jobId}`, () => outcomes.get(jobId), PATIENCE_MS);
    },
    outcomes,
  };
}
