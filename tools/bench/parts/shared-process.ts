/**
 * A child that runs several cores or several facades at once. They then differ only by their settings. Two processes
 * differ by hundredths for as long as they run, whatever their settings.
 */
import { buildCore } from '@slipway/core/app';
import { readCoreConfig } from '@slipway/core/config';
import { buildFacade } from '@slipway/facades/app';
import { readFacadeConfig } from '@slipway/facades/config';
import { createLogger } from '@slipway/kit/log/logger';
import { serveParent } from '../child.ts';

/** Program to start. */
export interface SharedStart {
  /** Name of the program for `stop`. */
  name: string;
  program: 'core' | 'facade';
  env: Record<string, string>;
}

const running = new Map<string, { stop(): Promise<void> }>();

async function start({ name, program, env }: SharedStart): Promise<{ address?: string; url?: string }> {
  if (program === 'core') {
    const config = readCoreConfig(env);
    const core = buildCore(config, { logger: createLogger('core', config.logLevel) });
    running.set(name, core);
    return { address: (await core.start()).address };
  }
  const config = readFacadeConfig(env);
  const facade = buildFacade(config, { logger: createLogger('facade', config.logLevel) });
  running.set(name, facade);
  return { url: (await facade.start()).url };
}

async function stop({ name }: { name: string }): Promise<void> {
  await running.get(name)?.stop();
  running.delete(name);
}

serveParent({}, { start, stop });
