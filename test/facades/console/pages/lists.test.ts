// test: postgres, python, 150 s
/** The console in a real Chromium on a real loaded system: lists, their filters and forms, by mouse and by keyboard. */
import t from 'tap';
import { whyNoChromium } from '../../../helpers/console/chromium.ts';
import { accountPages } from './account-pages.ts';
import { browserSystem } from './browser-system.ts';
import { deployPages } from './deploy-pages.ts';
import { filterPages } from './filter-pages.ts';
import { keyboardPages } from './keyboard-pages.ts';
import { listPages } from './list-pages.ts';
import { manyJobsPages } from './many-jobs-pages.ts';
import { namePages } from './name-pages.ts';
import { podPages } from './pod-pages.ts';

t.setTimeout(900_000);
t.test('lists and forms in a browser', { skip: whyNoChromium(), timeout: 900_000 }, async (t) => {
  const parts = await browserSystem(t);
  podPages(t, parts);
  keyboardPages(t, parts);
  filterPages(t, parts);
  listPages(t, parts);
  namePages(t, parts);
  manyJobsPages(t, parts);
  deployPages(t, parts);
  accountPages(t, parts);
});
