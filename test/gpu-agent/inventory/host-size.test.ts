/** Processors and memory of the machine: what its system says of them. */

import { hostSize, threadsPerCore } from '@slipway/gpu-agent/inventory/host-size';
import t from 'tap';

t.test('this machine', async (t) => {
  const { cpuCount, memoryMib, cpuModel, cpuThreadsPerCore } = hostSize();
  t.ok(cpuCount >= 1 && memoryMib > 100, `${cpuCount} processors, ${memoryMib} MiB`);
  t.equal(cpuModel, cpuModel.trim());
  t.ok(Number.isInteger(cpuThreadsPerCore) && cpuThreadsPerCore >= 0);
});

t.test('threads of a core', async (t) => {
  const processor = (siblings: number, cores: number): string =>
    `processor\t: 0\nmodel name\t: X\nsiblings\t: ${siblings}\ncpu cores\t: ${cores}\nflags\t: a\n`;
  t.equal(threadsPerCore(processor(16, 8) + processor(16, 8)), 2);
  t.equal(threadsPerCore(processor(8, 8)), 1);
  t.equal(threadsPerCore('processor\t: 0\nBogoMIPS\t: 50.00\n'), 0, 'other kinds of processors do not say');
  t.equal(threadsPerCore(''), 0);
});
