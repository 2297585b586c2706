// test: postgres
/** Alerts by e-mail in a real Chromium: the form, a test message through a real SMTP server, and a refusal of it. */
import type { Page } from 'playwright-core';
import t from 'tap';
import { whyNoChromium } from '../../helpers/console/chromium.ts';
import { mailServer } from '../../helpers/net/mail-server.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { consolePages } from './pages/console-pages.ts';

const FROM = 'slipway@lab.example';
const TO = 'on-call@lab.example';
const GONE = 'gone@lab.example';

t.setTimeout(600_000);
t.test('alerts by e-mail', { skip: whyNoChromium(), timeout: 240_000 }, async (t) => {
  const mail = await mailServer(t, { refused: [GONE] });
  const coreEnv = { SLIPWAY_SMTP_URL: `smtp://127.0.0.1:${mail.port}`, SLIPWAY_MAIL_FROM: FROM };
  const system = await startSystem(t, { agents: 0, coreEnv });
  const { open, inspect } = await consolePages(t, system);
  const page = await open(t);
  await page.getByRole('link', { name: 'Alerts' }).click();

  await t.test('a mailbox is added and takes the test message', async (t) => {
    await add(page, 'on call', TO);
    await inspect(t, page, 'alerts by e-mail');
    await page.getByText(`e-mail to ${TO}`).waitFor();
    await sendTest(page, 'on call');
    await page.getByText('on call has accepted the test message.').waitFor();
    t.match(mail.received, [{ from: FROM, to: [TO], text: /This is a test of the address "on call"/ }]);
    await page.keyboard.press('Escape');
  });

  await t.test('what the mail server says is shown', async (t) => {
    await add(page, 'left', GONE);
    await sendTest(page, 'left');
    const fault = page.getByRole('alert').getByText(/^The test message was not accepted: /);
    t.match(await fault.textContent(), /550 no such mailbox/);
    await page.keyboard.press('Escape');
  });

  await t.test('a text that is no mail address is not sent', async (t) => {
    await page.getByRole('button', { name: 'New address' }).click();
    await page.getByLabel('Name', { exact: true }).fill('odd');
    await page.getByLabel('Format').selectOption('email');
    await page.getByLabel('Mail address').fill('nobody');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    t.equal(await page.getByLabel('Mail address').evaluate('document.activeElement?.validity.typeMismatch'), true);
    await page.keyboard.press('Escape');
    t.equal(await page.getByRole('row').filter({ hasText: 'odd' }).count(), 0);
  });
});

async function add(page: Page, name: string, address: string): Promise<void> {
  await page.getByRole('button', { name: 'New address' }).click();
  await page.getByLabel('Name', { exact: true }).fill(name);
  await page.getByLabel('Format').selectOption('email');
  await page.getByLabel('Mail address').fill(address);
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('row').filter({ hasText: name }).waitFor();
}

async function sendTest(page: Page, name: string): Promise<void> {
  await page.getByRole('row').filter({ hasText: name }).getByRole('button', { name: 'Test' }).click();
  await page.getByRole('button', { name: 'Send a test message' }).click();
}
