/**
 * One question to a gRPC server by the protocol that all of them share (grpc.health.v1), on a connection of its own,
 * over HTTP/2 without TLS.
 */
import { connect } from 'node:http2';
import type { Clock } from '@slipway/kit/time/clock';
import type { HealthAnswer, HealthTarget } from './ask-health.ts';
import { ANSWER_MS, answerOfError } from './ask-health.ts';

const ANSWER_BYTES_MAX = 1_024;
const CHECK = '/grpc.health.v1.Health/Check';
/** A message of no bytes, which asks for the server as a whole. */
const WHOLE_SERVER = Buffer.alloc(5);
/** An answer of one message, whose only field says SERVING. */
const SERVING = Buffer.from([0, 0, 0, 0, 2, 8, 1]);
const UNIMPLEMENTED = '12';

/**
 * Asks. Answers as HTTP would say it: 200 ready, 503 not; a server without that service is ready when it answers. Never
 * rejects.
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
    // A server whose program hangs may well send pings.
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
    // Its session tells the cause, if it is that which ended.
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
    // Trailers come before it.
    asked.once('close', () => {
      const isReady = status === UNIMPLEMENTED || (status === '0' && answer.equals(SERVING));
      if (status !== undefined) end(isReady ? 200 : 503);
      else if (!session.destroyed) end('CUT');
    });
    asked.end(WHOLE_SERVER);
  });
}
