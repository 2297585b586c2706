/** Requests of real Python clients that send everything before they read (send_all_first.py). */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { Test } from 'tap';
import { PYTHONS } from '../system/handlers.ts';

/** A client: urllib closes its connection after each request, http.client keeps it. */
export type SendingClient = 'urllib' | 'chunked' | 'expect' | 'http.client' | 'HTTP/1.0' | 'half-close';

/** A request whose answer is settled before its body has arrived. */
interface EarlyAnswered {
  what: string;
  method?: string;
  path: string;
  bytes: number;
  /** Its first bytes. Default: as the rest. */
  start?: string;
  headers?: Record<string, string>;
  status: number;
  /** Status at an edge, if an edge may answer in place of a facade. */
  edgeStatus?: number;
  text: RegExp;
}

/** Where requests go. `queueId`: a queue-based endpoint. `lbId`: a load-balancing endpoint whose worker is ready. */
export interface EarlyTarget {
  url: string;
  key: string;
  queueId: string;
  lbId: string;
  /** Whether they go through an edge. Default false. */
  isEdge?: boolean;
}

const MIB = 1024 * 1024;
const FORM = { 'content-type': 'multipart/form-data; boundary=abc' };
const FIELD = '--abc\r\nContent-Disposition: form-data; name=';

/** Requests to every kind of route of a facade. */
function earlyAnswered({ queueId, lbId }: EarlyTarget): EarlyAnswered[] {
  const nobody = { authorization: 'Bearer rpa_unknown' };
  const large = { status: 400, text: /payload_too_large/i };
  return [
    { what: 'a job that is too large', path: `/v2/${queueId}/run`, bytes: 11 * MIB, ...large },
    { what: 'one that is waited for', path: `/v2/${queueId}/runsync`, bytes: 21 * MIB, ...large },
    { what: 'a batch of an endpoint', path: `/v2/${queueId}/batch`, bytes: 11 * MIB, ...large },
    { what: 'a cancel with a body', path: `/v2/${queueId}/cancel/x`, bytes: 4 * MIB, ...large },
    {
      what: 'a wrong key',
      path: `/v2/${queueId}/run`,
      bytes: 9 * MIB,
      headers: nobody,
      status: 401,
      text: /unauthorized/i,
    },
    { what: 'a wrong endpoint', path: '/v2/nosuchendpoint/run', bytes: 9 * MIB, status: 404, text: /not_found/ },
    { what: 'a wrong path', path: '/v1/nothing/is/here', bytes: 9 * MIB, status: 404, text: /not_found/ },
    {
      what: 'a wrong method',
      method: 'PUT',
      path: '/v1/templates',
      bytes: 9 * MIB,
      status: 405,
      text: /method_not_allowed/,
    },
    { what: 'GraphQL', path: '/graphql', bytes: 4 * MIB, ...large },
    {
      what: 'GraphQL with a wrong key',
      path: '/graphql',
      bytes: 4 * MIB,
      headers: nobody,
      status: 401,
      text: /UNAUTH/,
    },
    { what: 'REST', path: '/v1/templates', bytes: 12 * MIB, ...large },
    { what: 'REST v2', path: '/v2/templates', bytes: 12 * MIB, ...large },
    // An edge refuses it by itself.
    { what: 'a chat', path: '/openai/v1/chat/completions', bytes: 31 * MIB, ...large, edgeStatus: 413 },
    { what: 'a chat with an endpoint', path: `/v2/${queueId}/openai/v1/chat/completions`, bytes: 21 * MIB, ...large },
    { what: 'a batch', path: '/openai/v1/batches', bytes: 4 * MIB, ...large },
    { what: 'a file that is no form', path: '/openai/v1/files', bytes: 4 * MIB, status: 400, text: /invalid_request/ },
    { what: 'the console', path: '/console/session', bytes: 4 * MIB, status: 403, text: /./ },
    { what: 'a worker', path: `/v2/${lbId}/up`, bytes: 31 * MIB, status: 413, text: /payload_too_large/ },
    {
      what: 'a worker, with a wrong key',
      path: `/v2/${lbId}/up`,
      bytes: 9 * MIB,
      headers: nobody,
      status: 401,
      text: /invalid api key/,
    },
  ];
}

/** A worker's own answer. Envoy closes the connection a second after it, and reads nothing meanwhile. */
const workersOwn = (lbId: string): EarlyAnswered => ({
  what: 'a worker that says no before it reads',
  path: `/v2/${lbId}/no`,
  bytes: 9 * MIB,
  status: 403,
  text: /^no$/,
});

/** Forms whose fault is in their first field. A body without a length cannot begin with them. */
function badForms(): EarlyAnswered[] {
  return [
    {
      what: 'a file for no known purpose',
      path: '/openai/v1/files',
      bytes: 9 * MIB,
      start: `${FIELD}"purpose"\r\n\r\nvision\r\n${FIELD}"file"; filename="a"\r\n\r\n`,
      headers: FORM,
      status: 400,
      text: /must be \\"batch\\"/,
    },
    {
      what: 'a form with a text without an end',
      path: '/openai/v1/files',
      bytes: 9 * MIB,
      start: `${FIELD}"purpose"\r\n\r\n`,
      headers: FORM,
      status: 400,
      text: /field purpose is too long/,
    },
  ];
}

/** Checks that a client gets the answers to all of them. */
export async function checkEarlyAnswers(t: Test, target: EarlyTarget, how: SendingClient): Promise<void> {
  const { url, key, queueId, isEdge = false } = target;
  // The third in ten seconds is one too many.
  const purges = Array.from({ length: 3 }, (_, n) => ({
    what: `purge ${n + 1}`,
    path: `/v2/${queueId}/purge-queue`,
    bytes: 4 * MIB,
    status: n === 2 ? 429 : 400,
    text: n === 2 ? /rate_limited/ : /payload_too_large/,
  }));
  const workers = isEdge ? [] : [workersOwn(target.lbId)];
  const rows: EarlyAnswered[] = [
    ...earlyAnswered(target),
    ...workers,
    ...(how === 'chunked' ? [] : badForms()),
    ...purges,
  ];
  const answers = await sendAllFirst(
    rows.map(({ method = 'POST', path, headers = {}, bytes, start = '' }) => ({
      ...{ how, method, url: url + path, bytes, start },
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    })),
  );
  for (const [index, { what, status, edgeStatus, text }] of rows.entries()) {
    t.ok([status, edgeStatus].includes(answers[index]![0]), `${how}: ${what}: ${answers[index]![0]}`);
    t.match(answers[index]![1], text, `${how}: ${what}`);
  }
}

/** Sends them one after the other. Returns status and text of each. */
function sendAllFirst(requests: object[]): Promise<[status: number, text: string][]> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      PYTHONS.new,
      [join(import.meta.dirname, 'send_all_first.py')],
      { maxBuffer: 16 * MIB },
      (error, stdout) => (error ? reject(error) : resolve(JSON.parse(stdout) as [number, string][])),
    );
    child.stdin!.end(JSON.stringify(requests));
  });
}
