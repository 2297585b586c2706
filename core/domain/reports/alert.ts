/** Alerts: problems that lasted, and the messages about them. Pure. */
import { DomainError } from '../settings/errors.ts';
import { invalid } from '../settings/fields.ts';
import type { Problem } from './problem.ts';

/** Format of the messages to an address. */
export type AlertTargetKind = 'WEBHOOK' | 'SLACK' | 'EMAIL';

/** Most addresses of an account. */
export const ALERT_TARGETS_MAX = 20;
/** Time for which a problem lasts before it is sent, and for which it is away before it has ended, in milliseconds. */
export const ALERT_AFTER_MS = 60_000;
/** Longest silence in milliseconds. */
export const ALERT_SILENCE_MS_MAX = 2_592_000_000;

/** A problem that lasts or lasted. */
export interface AlertRecord {
  id: number;
  problem: Problem;
  beganAt: Date;
  /** `undefined` while it lasts. */
  endedAt: Date | undefined;
}

/** A message to send: an alert, and whether it is about the end. */
export interface AlertMessage {
  alert: AlertRecord;
  ofEnd: boolean;
}

/** Throws INVALID_REQUEST if the silence is out of range. */
export function checkSilence(ms: number): void {
  if (!Number.isInteger(ms) || ms < 0 || ms > ALERT_SILENCE_MS_MAX)
    throw invalid(`silence_ms must be from 0 to ${ALERT_SILENCE_MS_MAX}`);
}

/** A message as e-mail. */
export interface AlertMailBody {
  subject: string;
  text: string;
}

/**
 * Returns the one mail address of `url`, with or without `mailto:`. Throws INVALID_REQUEST. Names with quotes and
 * addresses that are not ASCII are rejected.
 */
export function checkMailAddress(url: string): string {
  const address = url.trim().replace(/^mailto:/i, '');
  if (address.length <= 254 && /^[\w.!#$*+/=^{|}~-]{1,64}@(?:[a-z0-9-]{1,63}\.)*[a-z0-9-]{1,63}$/i.test(address))
    return address;
  throw invalid('url must be one mail address, like mailto:on-call@example.com');
}

/** Returns the error for an address that is not in this account. */
export function targetNotFound(id: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no address for alerts ${JSON.stringify(id.slice(0, 64))}.`);
}

/** Returns what makes two problems the same one. */
export function identityOf({ kind, about, id }: Problem): string {
  return `${kind} ${about} ${id}`;
}

/** Returns the body of a message. */
export function alertMessage(kind: AlertTargetKind, { alert, ofEnd }: AlertMessage): Buffer {
  const { problem, beganAt, endedAt } = alert;
  if (kind === 'SLACK') return Buffer.from(JSON.stringify({ text: escaped(textOf(problem, ofEnd)) }));
  return Buffer.from(
    JSON.stringify({
      event: ofEnd ? 'problem.ended' : 'problem.began',
      id: String(alert.id),
      kind: problem.kind,
      broken: problem.broken,
      about: problem.about,
      resourceId: problem.id,
      name: problem.name,
      accountId: problem.accountId,
      ...(problem.jobId !== '' && { jobId: problem.jobId }),
      text: problem.text,
      beganAt: beganAt.toISOString(),
      ...(ofEnd && endedAt && { endedAt: endedAt.toISOString() }),
      runbook: runbookOf(problem.kind),
    }),
  );
}

/** Returns a message as e-mail. */
export function alertMail({ alert, ofEnd }: AlertMessage): AlertMailBody {
  const { problem, beganAt, endedAt } = alert;
  const { about, id, kind, text, accountId, jobId } = problem;
  const name = problem.name.replaceAll(/\s+/g, ' ');
  const facts = [
    ['Since', beganAt.toISOString()],
    ['Until', ofEnd && endedAt ? endedAt.toISOString() : ''],
    ['Kind', kind],
    [about.toLowerCase(), name === '' ? id : `${name} (${id})`],
    ['Job', jobId],
    ['Account', accountId],
    ['What to do', ofEnd ? '' : runbookOf(kind)],
  ];
  const lines = facts.filter(([, value]) => value !== '').map(([title, value]) => `${title}: ${value}`);
  return {
    subject: `${ofEnd ? 'Resolved' : 'Problem'}: ${about.toLowerCase()} ${name || id}`,
    text: `${text}\n\n${lines.join('\n')}\n`,
  };
}

/** Returns a test message as e-mail. */
export function testMail(name: string): AlertMailBody {
  return { subject: 'Test of alerts', text: `${testText(name)}\n` };
}

/** Returns the body of a test message. */
export function testMessage(kind: AlertTargetKind, name: string): Buffer {
  const text = testText(name);
  return Buffer.from(JSON.stringify(kind === 'SLACK' ? { text: escaped(text) } : { event: 'test', text }));
}

function testText(name: string): string {
  return `This is a test of the address ${JSON.stringify(name)} for alerts of Slipway.`;
}

function textOf({ about, name, id, kind, text }: Problem, ofEnd: boolean): string {
  const what = `${about.toLowerCase()} ${name || id}`;
  return ofEnd ? `Resolved: ${what}: ${text}` : `Problem: ${what}: ${text}\n${runbookOf(kind)}`;
}

/** Returns the page that says what to do. */
function runbookOf(kind: string): string {
  return `docs/operate/alerts.md#${kind.toLowerCase().replaceAll('_', '-')}`;
}

/** Escapes the characters that such receivers give a meaning. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
