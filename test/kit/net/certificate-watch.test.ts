/** Messages to operators about certificate files: new ones, invalid ones, and the expiry of those in use. */
import { Writable } from 'node:stream';
import type { CertificateState } from '@slipway/kit/net/certificate-watch';
import { CertificateWatch } from '@slipway/kit/net/certificate-watch';
import { Metrics } from '@slipway/kit/observe/metrics';
import { systemRandom } from '@slipway/kit/time/clock';
import { pino } from 'pino';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const DAY_MS = 86_400_000;

t.test('logged once each, and measured', async (t) => {
  const clock = new ManualClock();
  const lines: string[] = [];
  const logger = pino(
    {},
    new Writable({
      write(line: Buffer, _encoding, done) {
        lines.push(line.toString());
        done();
      },
    }),
  );
  const metrics = new Metrics();
  let checks = 0;
  const toMs = clock.nowMs() + 10 * DAY_MS;
  let state: CertificateState | undefined = { version: 1, fault: undefined, validity: { client: { fromMs: 0, toMs } } };
  const check = (): CertificateState => {
    checks += 1;
    if (!state) throw new Error('never good');
    return state;
  };
  const watch = new CertificateWatch({ prefix: 'slipway_x', check, metrics, clock, random: systemRandom, logger });
  await watch.start();
  t.teardown(() => watch.stop());
  const pass = async (ms: number): Promise<void> => {
    const before = checks;
    clock.pass(ms);
    await waitFor('a check', () => checks > before);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  };
  const count = (text: string): number => lines.filter((line) => line.includes(text)).length;
  const text = async (): Promise<string> => (await metrics.read()).text;

  await pass(10_000);
  t.same(lines, []);
  t.match(await text(), `slipway_x_certificate_expiry_timestamp_seconds{certificate="client"} ${toMs / 1_000}`);
  t.match(await text(), /slipway_x_certificate_files_unusable 0/);

  state = { ...state, fault: 'the key is of another' };
  await pass(10_000);
  await pass(10_000);
  t.equal(count('the previous ones stay'), 1);
  t.match(await text(), /slipway_x_certificate_files_unusable 1/);
  state = { ...state, version: 2, fault: undefined };
  await pass(10_000);
  t.equal(count('new certificate files are in use'), 1);

  await pass(4 * DAY_MS);
  await pass(10_000);
  t.equal(count('in 5 days: renew it'), 1);
  await pass(DAY_MS);
  t.equal(count('in 4 days: renew it'), 1, 'once a day');
  await pass(5 * DAY_MS);
  t.equal(count('expired on'), 1);

  state = undefined;
  await pass(10_000);
  t.notMatch(await text(), /certificate="client"/, 'whoever uses them reports files that were never good');
});
