/**
 * Makes README's two pictures of the console: `npx node test/facades/console/pages/readme-pictures.ts [folder]
 * [minutes]`. A system with several endpoints and machines works for so many minutes (default 11.25, when most comes;
 * into docs/images), then is looked at. Its work is to wait, its machines' GPUs are virtual; all else is real.
 */

import { join } from 'node:path';
import { delay, systemClock } from '@slipway/kit/time/clock';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { Endpoint, FlashBootType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { Page } from 'playwright-core';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { jsHandler } from '../../../helpers/system/handlers.ts';
import { lbEndpoint } from '../../../helpers/system/lb-endpoint.ts';
import { startSystem } from '../../../helpers/system/system.ts';
import { seededRandom } from '../../../helpers/time/seeded-random.ts';
import { consolePages } from './console-pages.ts';

const [folder = join(import.meta.dirname, '../../../../docs/images'), minutes = '11.25'] = process.argv.slice(2);
const TICK_MS = 1_000;
/**
 * How an endpoint is used: jobs a second at most and at least, the length of a wave and of a job in seconds, and how
 * many of a hundred fail.
 */
const LOADS: Readonly<Record<string, { most: number; least: number; waveS: number; jobS: number; failing: number }>> = {
  'sdxl-turbo': { most: 1.6, least: 0.2, waveS: 150, jobS: 3.2, failing: 2 },
  'whisper-large-v3': { most: 0.3, least: 0.05, waveS: 240, jobS: 6, failing: 0 },
  embeddings: { most: 3, least: 0.5, waveS: 90, jobS: 0.3, failing: 0 },
  'ocr-invoices': { most: 0.2, least: 0, waveS: 200, jobS: 4, failing: 0 },
};

t.setTimeout((Number(minutes) + 5) * 60_000);
t.test('pictures', { timeout: (Number(minutes) + 5) * 60_000 }, async (t) => {
  const system = await startSystem(t, { agents: 0 });
  const racks = {
    'rack-1': 'NVIDIA L4:24576x4',
    'rack-2': 'NVIDIA L4:24576x4',
    'rack-3': 'NVIDIA H100 80GB HBM3:81559x2',
  };
  for (const [name, gpus] of Object.entries(racks))
    await system.startAgent(undefined, { SLIPWAY_AGENT_NAME: name, SLIPWAY_VIRTUAL_GPUS: gpus });
  const { accountId } = await call(system.clients.access, 'createAccount', { name: 'studio' }, system.rootKey);
  const key = await system.newKey(KeyScope.ALL, accountId);
  const authorization = { authorization: `Bearer ${key}` };
  const newEndpoint = async (name: string, fields: Partial<Endpoint>, workersMax: number): Promise<string> => {
    const template = Template.fromPartial({ name, startCommand: jsHandler('busy.js'), serverless: true });
    const { template: made } = await call(system.clients.templates, 'createTemplate', { template }, key);
    const endpoint = Endpoint.fromPartial({ name, templateId: made!.id, idleTimeoutSeconds: 8, ...fields });
    return (
      await call(
        system.clients.endpoints,
        'createEndpoint',
        { endpoint, requestId: '', workersMax, retryLimit: undefined },
        key,
      )
    ).endpoint!.id;
  };
  const L4 = { gpuIds: ['NVIDIA L4'], workersMin: 0, flashBootType: FlashBootType.FLASHBOOT };
  const ids = new Map([
    ['sdxl-turbo', await newEndpoint('sdxl-turbo', { ...L4, workersMin: 1 }, 4)],
    ['whisper-large-v3', await newEndpoint('whisper-large-v3', L4, 3)],
    ['embeddings', await newEndpoint('embeddings', { ...L4, workersMin: 1 }, 2)],
    ['ocr-invoices', await newEndpoint('ocr-invoices', L4, 2)],
  ]);
  await newEndpoint('llama-405b', { gpuIds: ['NVIDIA B200'], gpuCount: 8, workersMin: 0 }, 1);
  await lbEndpoint(system, { name: 'chat', workersMin: 1, computeType: 'CPU' }, { key });
  const random = seededRandom();
  const submit = async (name: string): Promise<void> => {
    const { jobS, failing } = LOADS[name]!;
    const error = random.fraction() * 100 < failing ? { error: 'CUDA out of memory: tried to allocate 2.00 GiB' } : {};
    await system.request(
      'POST',
      `/v2/${ids.get(name)}/run`,
      { input: { ms: jobS * 1_000 * (0.6 + 0.8 * random.fraction()), ...error } },
      authorization,
    );
  };
  const startedMs = systemClock.monotonicMs();
  const { signal } = new AbortController();
  while (systemClock.monotonicMs() - startedMs < Number(minutes) * 60_000) {
    const atS = (systemClock.monotonicMs() - startedMs) / 1_000;
    for (const [name, { most, least, waveS }] of Object.entries(LOADS)) {
      const wave = (1 - Math.cos((atS / waveS) * 2 * Math.PI)) / 2;
      let due = ((least + (most - least) * wave) * TICK_MS) / 1_000;
      for (; due > 0; due -= 1) if (random.fraction() < due) await submit(name);
    }
    await delay(systemClock, TICK_MS, signal);
  }
  const { open } = await consolePages(t, { url: system.url, key });
  const take = (page: Page, name: string, height: number) =>
    page.screenshot({ path: join(folder, `${name}.png`), clip: { x: 0, y: 0, width: 1280, height } });
  const page = await open(t, { viewport: { width: 1280, height: 1_600 } });
  await page.getByRole('row').filter({ hasText: 'sdxl-turbo' }).waitFor();
  await take(page, 'console-overview', 700);
  const dark = await open(t, { viewport: { width: 1280, height: 2_600 }, colorScheme: 'dark' });
  await dark.goto(`${system.url}/console/endpoints/${ids.get('sdxl-turbo')}/activity`);
  await dark.getByRole('img', { name: /^Jobs a minute/ }).waitFor();
  await dark.getByLabel('in the last').selectOption({ label: '15 minutes' });
  await dark.getByText('in the last 15 minutes', { exact: true }).waitFor();
  await take(dark, 'console-endpoint', 1_900);
});
