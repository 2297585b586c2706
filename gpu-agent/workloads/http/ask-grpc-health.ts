/**
 * Asks a gRPC server for its health by the standard protocol (grpc.health.v1), over HTTP/2 without TLS. Each check
 * opens its own connection.
 */
import { connect } from 'node:http2';
import type { Clock } from '@slipway/kit/time/clock';
import type { HealthAnswer, HealthTarget } from './ask-health.ts';
import { ANSWER_MS, answerOfError } from './ask-health.ts';

const ANSWER_BYTES_MAX = 1_024;
const CHECK = '/grpc.health.v1.Health/Check';
/** An empty request message: it asks for the health of the whole server. */
const WHOLE_SERVER = Buffer.alloc(5);
/** The response message whose only field is SERVING. */
const SERVING = Buffer.from([0, 0, 0, 0, 2, 8, 1]);
const UNIMPLEMENTED = '12';

/**
 * Checks the server's health and returns the result as an HTTP status: 200 ready, 503 not ready. A server that does not
 * implement the service is ready if it responds. Never rejects.
 */
export function askGrpcHealth(
  { host, port }: Pick<HealthTarget, 'host' | 'port'>,
  clock: Clock,
): Promise<HealthAnswer> {
  return new Promise((resolve) => {
    const session = connect(`http://${host.includes(':') ? `[${host}]` : host}:${port}`);
    const end = (answer: HealthAnswer): void => {
      timer.cancel();
      resolve(answer);
      session.destroy();
    };
    // The limit covers the whole check: a server whose program hangs may still send pings.
    const timer = clock.after(ANSWER_MS, () => end('SLOW'));
    session.on('error', (error) => end(answerOfError(error)));
    session.once('close', () => end('CUT'));
    const asked = session.request({
      ':method': 'POST',
      ':path': CHECK,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    let status: string | string[] | undefined;
    let answer = Buffer.alloc(0);
    // If the session failed, its own error handler reports the cause.
    asked.on('error', () => undefined);
    asked.on('response', (headers) => {
      status = headers['grpc-status']?.toString();
    });
    asked.on('trailers', (trailers) => {
      status = trailers['grpc-status']?.toString() ?? status;
    });
    asked.on('data', (piece: Buffer) => {
      if (answer.length < ANSWER_BYTES_MAX) answer = Buffer.concat([answer, piece]);
    });
    // Trailers arrive before `close`.
    asked.once('close', () => {
      const isReady = status === UNIMPLEMENTED || (status === '0' && answer.equals(SERVING));
      if (status !== undefined) end(isReady ? 200 : 503);
      else if (!session.destroyed) end('CUT');
    });
    asked.end(WHOLE_SERVER);
  });
}
