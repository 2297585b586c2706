/** Lengths of names: counted in characters, and never by a list of the characters of many megabytes. */
import { checkFile } from '@slipway/core/domain/batches/file';
import { characterCount, checkName } from '@slipway/core/domain/settings/fields';
import t from 'tap';

const MANY = 'x'.repeat(16 * 1024 * 1024);

/** Runs work. Returns how many texts it walked character by character, and the text of its error. */
function walksOf(work: () => void): { walks: number; text: string } {
  const own = Object.getOwnPropertyDescriptor(String.prototype, Symbol.iterator)!;
  const walk = own.value as () => IterableIterator<string>;
  let walks = 0;
  Object.defineProperty(String.prototype, Symbol.iterator, {
    ...own,
    value(this: string): IterableIterator<string> {
      walks += 1;
      return walk.call(this);
    },
  });
  let text = '';
  try {
    work();
  } catch (error) {
    text = (error as Error).message;
  } finally {
    Object.defineProperty(String.prototype, Symbol.iterator, own);
  }
  return { walks, text };
}

t.test('a character outside the basic plane is one', async (t) => {
  t.equal(characterCount('a😀'), 2);
  t.doesNotThrow(() => checkName('name', '😀'.repeat(191)));
  t.throws(() => checkName('name', '😀'.repeat(192)), { message: /^name has 192 characters, but must have 1 to 191/ });
  t.throws(() => checkName('name', ''), { message: /^name has 0 characters/ });
});

t.test('a text of many megabytes is refused without a list of its characters', async (t) => {
  const long = `has ${MANY.length} characters`;
  t.match(
    walksOf(() => checkName('name', MANY)),
    { walks: 0, text: `name ${long}` },
  );
  t.match(
    walksOf(() => checkFile('batch', MANY)),
    { walks: 0, text: `filename ${long}` },
  );
  t.match(
    walksOf(() => checkName('name', 'short')),
    { walks: 1, text: '' },
    'the count of walks is right',
  );
});
