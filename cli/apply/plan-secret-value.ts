/** Plans secrets and registry credentials: their values cannot be read back, so they are sent only once. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { EntryContext, Step } from './steps.ts';

/** Returns the step. An existing value is replaced with --update-secrets only. */
export function planSecretValue(
  context: EntryContext,
  step: Omit<Step, 'action'>,
  found: { description?: string } | undefined,
): Step {
  const { section, entry, options, fault } = context;
  const { description, username } = entry.values;
  const isPassword = section === 'registryAuths';
  const word = isPassword ? 'password' : 'value';
  const has = [`${word}FromEnv`, `${word}FromFile`].some((name) => entry.values[name] !== undefined);
  if (!found && !(has && (!isPassword || username !== undefined))) {
    fault(`does not exist yet and needs ${isPassword ? 'username and ' : ''}${word}FromEnv or ${word}FromFile`);
    return { ...step, action: 'create' };
  }
  if (!found) return { ...step, action: 'create', secret: valueOf(context, word) };
  const isSent = has && options.updateSecrets && (!isPassword || username !== undefined);
  const changes = [
    ...(isSent ? [{ setting: word, to: 'sent again' }] : []),
    ...(!isPassword && description !== undefined && description !== found.description
      ? [{ setting: 'description', from: found.description, to: description }]
      : []),
  ];
  const secret = isSent ? valueOf(context, word) : undefined;
  return { ...step, action: changes.length > 0 ? 'update' : 'keep', changes, secret };
}

/** Reads the value, without the line end of a file. */
function valueOf({ cli, entry, fault }: EntryContext, word: 'password' | 'value'): string | undefined {
  const { [`${word}FromEnv`]: variable, [`${word}FromFile`]: file } = entry.values;
  if (typeof variable === 'string') {
    const value = cli.config.env[variable];
    if (!value) fault(`takes its ${word} from the variable ${variable}, which is not set`);
    return value;
  }
  const path = resolve(entry.folder, String(file));
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    fault(`takes its ${word} from ${path}, which cannot be read (${(error as NodeJS.ErrnoException).code})`);
    return undefined;
  }
}
