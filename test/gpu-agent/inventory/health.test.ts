/** Which signs of a card are a warning, which are a fault, and what an operator may put back. */
import { readFileSync, writeFileSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { classify, XIDS } from '@slipway/gpu-agent/inventory/health/classify';
import { parseReport, pciOf } from '@slipway/gpu-agent/inventory/health/driver-report';
import { KernelLog } from '@slipway/gpu-agent/inventory/health/kernel-log';
import { parseLinkErrors } from '@slipway/gpu-agent/inventory/health/link-errors';
import type { ThrottleHistory } from '@slipway/gpu-agent/inventory/health/throttling';
import { throttlingAfter } from '@slipway/gpu-agent/inventory/health/throttling';
import t from 'tap';
import { card, report } from '../../helpers/gpu-report.ts';

const UUID = 'GPU-11111111-0000-0000-0000-000000000000';
const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/operate/gpu-health.md'), 'utf8');
const healthOf = (values: Record<string, string> = {}, codes: number[] = []) =>
  classify(
    parseReport(report(card(UUID, values)))[0]!,
    codes.map((code, n) => ({ pci: '0000:3b:00', code, mark: `boot/${n}` })),
  );

t.test('signs of the driver', async (t) => {
  t.same(healthOf(), { fault: '', warning: '', faultMark: '' }, 'a card at its power limit is well');
  t.same(healthOf({ gpu_recovery_action: 'None', summary: 'Healthy', remapped_row_failure: 'N/A' }).fault, '');
  const failed: [Record<string, string>, RegExp][] = [
    [{ remapped_row_failure: 'Yes' }, /rows of its memory/],
    [{ unrepairable_memory: 'Yes' }, /cannot be repaired/],
    [{ sram_threshold_exceeded: 'Yes' }, /SRAM/],
    [{ reset_required: 'Yes' }, /asks for a reset/],
    [{ gpu_recovery_action: 'Reset' }, /asks for: Reset/],
    [{ gpu_recovery_action: 'Reboot' }, /asks for: Reboot/],
  ];
  for (const [values, fault] of failed) t.match(healthOf(values), { fault, warning: '', faultMark: '' });
  const warned: [Record<string, string>, RegExp][] = [
    [{ gpu_recovery_action: 'Drain and Reset' }, /Drain and Reset/],
    [{ remapped_row_pending: 'Yes' }, /replaced at the next reset/],
    [{ pending_retirement: 'Yes' }, /replaced at the next reset/],
    [{ dram_uncorrectable: '2', sram_uncorrectable_parity: '1' }, /^3 uncorrectable/],
    [{ clocks_event_reason_sw_thermal_slowdown: 'Active' }, /heat/],
    [{ clocks_throttle_reason_hw_thermal_slowdown: 'Active' }, /heat/],
    [{ clocks_event_reason_hw_power_brake_slowdown: 'Active' }, /power supply/],
    [{ current_link_width: '8x' }, /8 of 16 lanes/],
    [{ summary: 'Unhealthy' }, /NVLink fabric is unhealthy/],
  ];
  for (const [values, warning] of warned) t.match(healthOf(values), { fault: '', warning });
});

t.test('a part that is cut off says nothing, nor does what the name of a process pretends', async (t) => {
  const [first, second] = [UUID, 'GPU-22222222-0000-0000-0000-000000000000'];
  const cut = report(card(first), card(second, {}, '5E'))
    .split('<ecc_errors>')
    .slice(0, -1)
    .join('<ecc_errors>');
  t.same(
    parseReport(cut).map(({ uuid }) => uuid),
    [first],
  );
  const named = (name: string): string => `<processes><process_name>${name}</process_name></processes>\n</gpu>`;
  const own = card(first).replace('</gpu>', named('<unrepairable_memory>Yes</unrepairable_memory>'));
  t.same(parseReport(report(own)), parseReport(report(card(first))), 'of its own card');
  const other = card(first).replace('</gpu>', named(`x\n${card(second, { reset_required: 'Yes' })}`));
  t.same(
    parseReport(report(other, card(second))).map(({ uuid, resetRequired }) => [uuid, resetRequired]),
    [[first, false]],
    'of another',
  );
  const lines = parseReport(report(card(first).replace('</gpu>', named('\n'.repeat(1_000_000)))));
  t.equal(lines.length, 1);
});

t.test('Xid errors', async (t) => {
  t.same(healthOf({}, [13, 31, 43, 45]), { fault: '', warning: '', faultMark: '' }, 'errors of a program are no sign');
  t.match(healthOf({}, [63, 79, 95]), { fault: /^Xid 79: .*; Xid 95: /, warning: /^Xid 63/, faultMark: 'boot/2' });
  t.match(healthOf({ reset_required: 'Yes' }, [79]), { fault: /Xid 79/, faultMark: '' }, 'no operator ends that');
  t.match(healthOf({ gpu_recovery_action: 'None' }, [79]), { fault: '', warning: /Xid 79/ }, 'the driver knows better');
});

t.test('the page names each code with its level and meaning', async (t) => {
  for (const [code, [level, meaning]] of Object.entries(XIDS))
    t.match(PAGE, new RegExp(`\\| Xid ${code} \\| ${level.toLowerCase()} \\| ${meaning}`), code);
});

t.test('the kernel log: new lines, and the latest event of each code', async (t) => {
  const path = join(t.testdir({}), 'kmsg');
  const line = (time: number, card: string, code: number) =>
    `4,${time},${time},-;NVRM: Xid (PCI:${card}): ${code}, pid=12, name=python, more text\n SUBSYSTEM=pci\n`;
  writeFileSync(path, `6,1,100,-;Linux version 6.1\n${line(200, '0000:3b:00', 79)}${line(300, '0000:AF:00.0', 31)}`);
  const log = new KernelLog(path);
  t.teardown(() => log.close());
  t.match(log.read(), [
    { pci: '0000:3b:00', code: 79, mark: /\/0{13}200$/ },
    { pci: '0000:af:00', code: 31 },
  ]);
  await appendFile(path, line(400, '0000:3b:00', 79).slice(0, 20));
  t.equal(log.read().length, 2, 'half a line waits');
  await appendFile(path, line(400, '0000:3b:00', 79).slice(20));
  t.match(log.read()[0], { mark: /\/0{13}400$/ });
  t.throws(() => new KernelLog(join(path, 'none')).read());
});

t.test('errors of NVLinks', async (t) => {
  const old = `GPU 0: NVIDIA A100 (UUID: GPU-a)
\t Link 0: Replay Errors: 1
\t Link 0: Recovery Errors: 2
\t Link 0: CRC Errors: 4
\t Link 11: Replay Errors: 8
GPU 1: NVIDIA A100 (UUID: GPU-b)
\t Link 0: Replay Errors: 0
GPU 2: NVIDIA L4 (UUID: GPU-c)
NVML: Unable to retrieve NVLink information as all links are inActive
`;
  t.same(
    [...parseLinkErrors(old)],
    [
      ['GPU-a', { repaired: 15, failed: 0 }],
      ['GPU-b', { repaired: 0, failed: 0 }],
    ],
  );
  const recent = `GPU 0: NVIDIA B200 (UUID: GPU-d)
\t Link 0: Tx packets: 812734
\t Link 0: Malformed packet Errors: 1
\t Link 0: Link recovery successful events: 3
\t Link 0: Link recovery failed events: 2
\t Link 0: Symbol Errors: 900
\t Link 0: Effective BER: 15e-255
`;
  t.same([...parseLinkErrors(recent)], [['GPU-d', { repaired: 1, failed: 2 }]]);
  t.same([...parseLinkErrors('')], []);
});

t.test('positions on the PCI bus, in each form', async (t) => {
  for (const text of ['00000000:3B:00.0', 'PCI:0000:3b:00', '0000:3b:00.0']) t.equal(pciOf(text), '0000:3b:00');
  t.equal(pciOf('none'), undefined);
});

t.test('throttling counts once it lasts, and ends once it stays away', async (t) => {
  let history: ThrottleHistory | undefined;
  const looks = (heat: boolean, count: number) =>
    Array.from(
      { length: count },
      () => (history = throttlingAfter({ heat, powerBrake: false }, history)).heat.isReported,
    );
  t.same(looks(true, 3), [false, false, true]);
  t.same(looks(false, 9), Array(9).fill(true));
  t.same(looks(true, 1), [true], 'it came back');
  t.same(looks(false, 10).at(-1), false);
});
