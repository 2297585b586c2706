/** Planted bugs fit the source: a patch whose text has changed would plant nothing. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { PLANTED } from './planted.ts';

for (const { name, patches } of PLANTED)
  t.test(`${name}: each patch meets its text exactly once`, async (t) => {
    for (const { file, find, put } of patches) {
      const source = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
      t.equal(source.split(find).length - 1, 1, `${file}: ${find}`);
      t.not(put, find);
    }
  });
