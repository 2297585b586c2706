/** Which repeated messages are reported, and which are not. */

import { WorkerCrashes } from '@slipway/dev/processes/worker-crashes';
import { plain, Repeats } from '@slipway/dev/repeats';
import { Worker, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';

t.test('at growing intervals, each text by itself, numbers in it apart', async (t) => {
  const repeats = new Repeats();
  const told = Array.from({ length: 20 }, (_, index) => repeats.count(`at 0x${index}f line ${index}`)).filter(Boolean);
  t.same(told, [1, 2, 4, 8, 16]);
  t.equal(repeats.count('another'), 1);
  for (let index = 0; index < 200; index += 1) repeats.count('x'.repeat(index));
  t.equal(repeats.count('another'), 1, 'what was long ago is forgotten');
  t.equal(plain('a\u001b[2J\tb\nc\u009b'), 'a [2J\tb\nc ');
});

t.test('crashes of workers', async (t) => {
  const said: string[] = [];
  const crashes = new WorkerCrashes({ problem: (text) => said.push(`! ${text}`), step: (text) => said.push(text) });
  const crashed = (id: string, reason: string) => Worker.fromPartial({ id, state: WorkerState.UNHEALTHY, reason });
  const trace = (id: string): string => `exit code 1\nTraceback of ${id}\nValueError: no model\n`;
  crashes.update('ocr', [crashed('w1', trace('w1')), Worker.fromPartial({ id: 'w2', state: WorkerState.READY })]);
  crashes.update('ocr', [
    crashed('w1', trace('w1')),
    crashed('w3', trace('w3')),
    crashed('w4', trace('w4')),
    crashed('w5', trace('w5')),
  ]);
  crashes.update('llm', [crashed('w6', trace('w6'))]);
  t.same(said, [
    '! Worker w1 of ocr crashed; another one will be started in its place:\n' +
      'exit code 1\n' +
      'Traceback of w1\n' +
      'ValueError: no model',
    'worker w3 of ocr crashed again (2 times), same error: ValueError: no model',
    'worker w5 of ocr crashed again (4 times), same error: ValueError: no model',
    '! Worker w6 of llm crashed; another one will be started in its place:\n' +
      'exit code 1\n' +
      'Traceback of w6\n' +
      'ValueError: no model',
  ]);
});
