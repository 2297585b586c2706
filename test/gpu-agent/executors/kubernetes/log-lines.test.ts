/** Times are taken off the lines of a Pod's log, and what came before a cut does not come again. */
import { LogLines } from '@slipway/gpu-agent/executors/kubernetes/log-lines';
import t from 'tap';

function make() {
  let text = '';
  const lines = new LogLines((bytes) => (text += String(bytes)));
  return { lines, text: () => text, push: (part: string) => lines.push(Buffer.from(part)) };
}

const AT = '2026-01-02T03:04:05';

t.test('parts of lines, whatever their cuts', async (t) => {
  const whole = `${AT}.1Z one\n${AT}.2Z two\n${AT}.2Z \n${AT}.3Z last`;
  for (let cut = 0; cut <= whole.length; cut += 1) {
    const { lines, text, push } = make();
    lines.begin();
    push(whole.slice(0, cut));
    push(whole.slice(cut));
    lines.end();
    t.equal(text(), 'one\ntwo\n\nlast', `cut at ${cut}`);
  }
});

t.test('after a cut the log comes from the whole second of its last line', async (t) => {
  const { lines, text, push } = make();
  t.equal(lines.since, undefined);
  lines.begin();
  push(`${AT}.100000000Z a\n${AT}.2Z b\n${AT}.200000000Z b\n${AT}.3Z unfin`);
  t.equal(lines.since, `${AT}Z`);
  lines.begin();
  push(`${AT}.100000000Z a\n${AT}.2Z b\n${AT}.200000000Z b\n${AT}.2Z new\n${AT}.3Z unfinished\n`);
  lines.begin();
  push(`${AT}.2Z new\n${AT}.3Z unfinished\n2026-01-02T04:04:05.3+01:00 of the same time\n`);
  lines.end();
  t.equal(text(), 'a\nb\nb\nnew\nunfinished\nof the same time\n');
});

t.test('a line that does not end is passed on in parts, and comes anew after a cut', async (t) => {
  const { lines, text, push } = make();
  const long = 'x'.repeat(100_000);
  lines.begin();
  push(`${AT}.1Z ${long}`);
  push('y');
  t.equal(text().length, 100_000, 'not held');
  lines.begin();
  push(`${AT}.1Z ${long}yz\n${AT}.2Z next\n`);
  t.equal(text(), `${long}\n${long}yz\nnext\n`);
});

t.test('a line without a time is not lost', async (t) => {
  const { lines, text, push } = make();
  lines.begin();
  push('unable to retrieve container logs\n');
  lines.end();
  t.equal(text(), 'unable to retrieve container logs\n');
});
