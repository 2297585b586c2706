/** A real SMTP server that keeps what it receives. */

import { SMTPServer } from 'smtp-server';
import type { Test } from 'tap';

interface ReceivedMail {
  from: string;
  to: string[];
  /** The message with its headers. */
  text: string;
  /** User that logged in. Empty: none. */
  user: string;
  /** Whether it came over TLS. */
  secure: boolean;
}

interface MailServerOptions {
  /** Certificate and key in PEM. Without them there is no TLS. */
  tls?: { cert: string; key: string };
  /** Password that every user must give. Without it none logs in. */
  password?: string;
  /** Recipients that are refused. */
  refused?: readonly string[];
}

/** Starts the server on a free port of the loopback. It ends with the test. */
export async function mailServer(t: Test, { tls, password, refused = [] }: MailServerOptions = {}) {
  const received: ReceivedMail[] = [];
  const server = new SMTPServer({
    ...tls,
    disabledCommands: [...(tls ? [] : ['STARTTLS']), ...(password === undefined ? ['AUTH'] : [])],
    authOptional: password === undefined,
    onAuth: ({ username, password: given }, _session, done) =>
      given === password ? done(null, { user: username }) : done(new Error('wrong password')),
    onRcptTo: ({ address }, _session, done) =>
      refused.includes(address) ? done(Object.assign(new Error('no such mailbox'), { responseCode: 550 })) : done(),
    onData: (stream, { envelope, secure, user }, done) => {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', () => {
        received.push({
          from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
          to: envelope.rcptTo.map(({ address }) => address),
          text: Buffer.concat(parts).toString(),
          user: String(user ?? ''),
          secure,
        });
        done();
      });
    },
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => new Promise<void>((resolve) => server.close(resolve)));
  const { port } = server.server.address() as { port: number };
  return { port, received };
}
