import { LogRing } from '@slipway/gpu-agent/launch/log-ring';
import t from 'tap';

t.test('keeps the newest bytes', async (t) => {
  const ring = new LogRing(10);
  t.equal(String(ring.tail(5)), '');
  ring.write(Buffer.from('abc'));
  t.equal(String(ring.tail(10)), 'abc');
  ring.write(Buffer.from('defgh'));
  t.equal(String(ring.tail(4)), 'efgh');
  ring.write(Buffer.from('ijkl'));
  t.equal(String(ring.tail(10)), 'cdefghijkl');
  t.equal(String(ring.tail(99)), 'cdefghijkl');
  ring.write(Buffer.from('0123456789ABCDEF'));
  t.equal(String(ring.tail(10)), '6789ABCDEF');
  ring.write(Buffer.alloc(0));
  t.equal(ring.size, 10);
});

t.test('the same as a plain tail, whatever the sizes', async (t) => {
  const ring = new LogRing(10_000);
  let all = '';
  for (let i = 0; i < 2_000; i += 1) {
    const text = `${i}:${'x'.repeat((i * 37) % 200)};`;
    all += text;
    ring.write(Buffer.from(text));
    if (i % 97 === 0) t.equal(String(ring.tail(10_000)), all.slice(-10_000));
  }
});
