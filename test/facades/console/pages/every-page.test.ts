// test: postgres, python, 70 s
/** Every page of the console in a real Chromium, as each kind of key sees it, and with what hostile programs write. */
import t from 'tap';
import { whyNoChromium } from '../../../helpers/console/chromium.ts';
import { browserSystem } from './browser-system.ts';
import { everyPage } from './every-page.ts';
import { nastyPages } from './hostile-output-pages.ts';

t.setTimeout(900_000);
t.test('every page in a browser', { skip: whyNoChromium(), timeout: 900_000 }, async (t) => {
  const parts = await browserSystem(t);
  everyPage(t, parts);
  nastyPages(t, parts);
});
