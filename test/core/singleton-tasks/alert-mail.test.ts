// test: postgres, 5 s
/** Alerts by e-mail, through a real SMTP server: what is sent, by whom, over TLS, and what is refused. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCoreConfig } from '@slipway/core/config';
import { alertMail } from '@slipway/core/domain/reports/alert';
import { createAlertTarget } from '@slipway/core/reports/alert-targets';
import { AlertSender } from '@slipway/core/singleton-tasks/alert-sender';
import { MailSender } from '@slipway/core/singleton-tasks/mail-sender';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import t from 'tap';
import { mailServer } from '../../helpers/net/mail-server.ts';
import { logger, startEngines } from '../../helpers/system/job-engine.ts';

const opensslSkip = spawnSync('openssl', ['version']).status === 0 ? false : 'needs openssl';
const FROM = 'slipway@lab.example';
const NEVER = new AbortController().signal;
const MAIL = { subject: 'Test', text: 'ä\n' };
const TO = 'on-call@lab.example';
const engines = await startEngines(t, { idle: true });
const { stores, sealer } = engines;
const context = { ...stores, sealer, random: systemRandom, allowPrivate: true, sendsMail: true };
const actor = { accountId: 'account', keyId: 'key' };

t.test('an address is tested: the message, and what the server says', async (t) => {
  const server = await mailServer(t, { refused: ['gone@lab.example'] });
  const mail = new MailSender({ smtpUrl: `smtp://127.0.0.1:${server.port}`, mailFrom: FROM }, systemClock);
  const parts = { stores, sealer, clock: systemClock, random: systemRandom, logger, allowPrivate: true, mail };
  const sender = new AlertSender({ ...parts, problems: { list: async () => [] } });
  const make = (url: string) => createAlertTarget(context, actor, { name: 'on-call', kind: 'EMAIL', url });
  const target = await make(`mailto:${TO}`);
  t.match(target, { host: TO, kind: 'EMAIL' }, 'a mail address is shown');
  t.equal(await sender.test(target.id, 'account'), undefined);
  t.match(server.received, [
    { from: FROM, to: [TO], text: /Subject: Test of alerts[^]*This is a test of the address "on-call"/ },
  ]);
  const gone = await make('gone@lab.example');
  t.match(await sender.test(gone.id, 'account'), /^the mail server answered: .*550 no such mailbox/);
  t.match(await stores.alerts.target(gone.id, 'account'), { lastError: /no such mailbox/ });
  for (const url of ['a@x, b@x', 'mailto:a@x?bcc=b@x', 'a@x\r\nBcc: b@x', 'https://x/', '<a@x>', ''])
    await t.rejects(make(url), { message: /one mail address/ }, JSON.stringify(url));
  const without = { ...context, sendsMail: false };
  await t.rejects(createAlertTarget(without, actor, { name: 'x', kind: 'EMAIL', url: TO }), /SLIPWAY_SMTP_URL/);
});

t.test('a problem and its end as people read them', async (t) => {
  const problem = {
    ...{
      kind: 'OLD_QUEUE' as const,
      broken: true,
      about: 'ENDPOINT' as const,
      id: 'abc',
      name: 'ocr\nBcc: x@x',
      accountId: 'account',
    },
    ...{ jobId: 'job', text: 'The oldest job waits for 20 min.' },
  };
  const alert = { id: 7, problem, beganAt: new Date(0), endedAt: undefined };
  const began = alertMail({ alert, ofEnd: false });
  t.match(began, { subject: /^Problem: endpoint ocr/, text: /^The oldest job waits[^]*What to do: .*#old-queue/ });
  const ended = alertMail({ alert: { ...alert, endedAt: new Date(1_000) }, ofEnd: true });
  t.match(ended, { subject: /^Resolved: /, text: /Until: 1970-01-01T00:00:01/ });
  const server = await mailServer(t);
  const mail = new MailSender({ smtpUrl: `smtp://127.0.0.1:${server.port}`, mailFrom: FROM }, systemClock);
  t.equal(await mail.send(TO, began, '7.begin', NEVER), undefined);
  const [{ text, to }] = server.received as [(typeof server.received)[number]];
  t.match(text, /^Message-ID: <slipway-7\.begin@lab\.example>\r$/m, 'all tries have one id');
  t.same(to, [TO]);
  t.notMatch(text, /^Bcc:/m, 'a name adds no line');
});

t.test('a password goes over TLS only, to a server that is trusted', { skip: opensslSkip }, async (t) => {
  const folder = t.testdir();
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const asked = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=mail';
  const names = ['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', keyFile, '-out', certFile];
  execFileSync('openssl', [...asked.split(' '), ...names], { stdio: 'ignore' });
  const [key, cert] = [readFileSync(keyFile, 'utf8'), readFileSync(certFile, 'utf8')];
  const secured = await mailServer(t, { tls: { key, cert }, password: 's3cret/' });
  const plain = await mailServer(t, { password: 's3cret/' });
  const send = (port: number, password: string, trusted = true) => {
    const smtpUrl = `smtp://me:${encodeURIComponent(password)}@127.0.0.1:${port}`;
    const authorities = trusted ? { current: () => ({ pem: cert }) } : undefined;
    return new MailSender({ smtpUrl, mailFrom: FROM }, systemClock, authorities).send(TO, MAIL, 'x', NEVER);
  };
  t.equal(await send(secured.port, 's3cret/'), undefined);
  t.match(secured.received, [{ user: 'me', secure: true }]);
  t.match(await send(secured.port, 'wrong'), /refused the user or the password/);
  t.match(await send(secured.port, 's3cret/', false), /could not be used \(E\w+\)/, 'its authority is unknown');
  t.match(await send(plain.port, 's3cret/'), /STARTTLS/, 'no TLS');
  t.same(plain.received, []);
  const other = await mailServer(t);
  const stopped = AbortSignal.abort(new Error('stopping'));
  const mail = new MailSender({ smtpUrl: `smtp://127.0.0.1:${other.port}`, mailFrom: FROM }, systemClock);
  t.match(await mail.send(TO, MAIL, 'x', stopped), /could not be used/, 'a stop ends a try');
});

t.test('settings', async (t) => {
  const env = { SLIPWAY_DATABASE_URL: 'postgres://x', SLIPWAY_SECRET_KEY: '0'.repeat(64) };
  const read = (smtpUrl: string, from: string) =>
    readCoreConfig({ ...env, SLIPWAY_SMTP_URL: smtpUrl, SLIPWAY_MAIL_FROM: from });
  t.match(read('smtps://me:pw@mail.lab.example:465', FROM), { mailFrom: FROM });
  t.throws(() => read('smtp://mail.lab.example', ''), /belong together/);
  t.throws(() => read('https://mail.lab.example', FROM), /must be smtp/);
  t.throws(() => read('smtp://mail.lab.example/?pool=true', FROM), /must be smtp/);
  t.throws(() => read('smtp://mail.lab.example', 'Slipway <a@b>'), /SLIPWAY_MAIL_FROM/);
});
