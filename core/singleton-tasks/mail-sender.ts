/** Sends alerts as e-mail through the installation's mail server. */
import { getCACertificates } from 'node:tls';
import type { Clock } from '@slipway/kit/time/clock';
import { within } from '@slipway/kit/time/clock';
import type { AlertMailBody } from '../domain/reports/alert.ts';
import type { WebhookAuthorities } from './webhook-caller.ts';
import { TRY_MS_MAX } from './webhook-caller.ts';

/** How the installation sends e-mail. */
interface MailConfig {
  /** smtp:// or smtps:// URL of the mail server, with user and password where it wants them. Secret. */
  smtpUrl: string;
  /** Address that messages are from. */
  mailFrom: string;
}

export class MailSender {
  readonly #config: MailConfig;
  readonly #clock: Clock;
  readonly #authorities: WebhookAuthorities | undefined;

  /** `authorities`: trusted in addition to the machine's. */
  constructor(config: MailConfig, clock: Clock, authorities?: WebhookAuthorities) {
    this.#config = config;
    this.#clock = clock;
    this.#authorities = authorities;
  }

  /** Returns the sender; `undefined` if the installation names no mail server. */
  static of(config: MailConfig, clock: Clock, authorities?: WebhookAuthorities): MailSender | undefined {
    return config.smtpUrl === '' ? undefined : new MailSender(config, clock, authorities);
  }

  /**
   * Sends a message over a separate connection. `id` is the same for all its tries: receivers can drop repeats.
   * Returns why it was not taken.
   */
  async send(to: string, mail: AlertMailBody, id: string, signal: AbortSignal): Promise<string | undefined> {
    const { mailFrom: from } = this.#config;
    // SMTP with its extensions, TLS and MIME: nodemailer, which has no dependencies. Few installations send e-mail.
    const { createTransport } = await import('nodemailer');
    const transport = createTransport({
      ...serverOf(this.#config.smtpUrl),
      ...(this.#authorities && { tls: { ca: [...getCACertificates(), this.#authorities.current().pem] } }),
      ...{ connectionTimeout: TRY_MS_MAX, greetingTimeout: TRY_MS_MAX, socketTimeout: TRY_MS_MAX },
      ...{ disableFileAccess: true, disableUrlAccess: true },
    });
    const message = { from, to, ...mail, messageId: `<slipway-${id}@${from.split('@').at(-1)}>` };
    try {
      // A server that answers a byte at a time must not hold a try for ever.
      await within(this.#clock, TRY_MS_MAX, signal, (over) =>
        Promise.race([transport.sendMail(message), abortOf(over)]),
      );
      return undefined;
    } catch (error) {
      return reasonOf(error as Error & { code?: string; responseCode?: number });
    } finally {
      transport.close();
    }
  }
}

/** Rejects when the signal aborts. */
function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

/** Returns the server. A password is sent over TLS only: without it smtp:// takes what the server offers. */
function serverOf(url: string) {
  const { protocol, hostname, port, username, password } = new URL(url);
  const secure = protocol === 'smtps:';
  const auth = username === '' ? undefined : { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || (secure ? 465 : 587)),
    secure,
    ...(auth && { auth, requireTLS: true }),
  };
}

/** Returns the reason for people. The server's own words are kept only of a refusal: they may name users otherwise. */
function reasonOf({ code = '', responseCode, message }: Error & { code?: string; responseCode?: number }): string {
  if (responseCode !== undefined && code !== 'EAUTH') return `the mail server answered: ${message.slice(0, 200)}`;
  if (code === 'EAUTH') return 'the mail server refused the user or the password of SLIPWAY_SMTP_URL';
  return `the mail server could not be used${code === '' ? '' : ` (${code})`}`;
}
