/** Chooses the context of a command: --context, then SLIPWAY_CONTEXT, then the one in use. */
import type { CliConfig } from './config.ts';
import type { Context } from './context-file.ts';
import { contextNamed, LOCAL, readContexts } from './context-file.ts';

/** The context of a command. */
export interface ChosenContext {
  name: string;
  context: Context;
  /** It was named by --context, which goes before the environment. */
  byOption: boolean;
  /** It was named by --context or SLIPWAY_CONTEXT. */
  isNamed: boolean;
}

/** Returns the context. `undefined`: none. Throws UsageError if it does not exist. */
export function chooseContext(
  config: Pick<CliConfig, 'context' | 'contextFile'>,
  { context: option, localEnv }: { context?: string; localEnv?: string },
): ChosenContext | undefined {
  if (option === undefined && localEnv !== undefined) return undefined;
  const named = option ?? config.context;
  if (named === LOCAL) return undefined;
  const contexts = readContexts(config.contextFile);
  const name = named ?? contexts.current;
  if (name === undefined) return undefined;
  const context = contextNamed(contexts, name);
  return { name, context, byOption: option !== undefined, isNamed: named !== undefined };
}
