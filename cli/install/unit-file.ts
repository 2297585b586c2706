/** Writes a unit file, and notices when an operator has changed it since. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

const HEADER = /^# Written by `slipway install`, sha256 ([0-9a-f]{64}).*\n/;

/** State of a unit file compared with the text to write. `changed`: it was edited, so it must stay. */
type UnitFileState = 'new' | 'same' | 'older' | 'changed';

/** Returns the text of the file with its digest, by which a later change is noticed. */
export function withDigest(unit: string): string {
  const header = `# Written by \`slipway install\`, sha256 ${digest(unit)}.`;
  return `${header} Put changes into a drop-in: systemctl edit NAME\n${unit}`;
}

/** Compares a file with what is to be written. */
export function unitFileState(file: string, text: string): UnitFileState {
  if (!existsSync(file)) return 'new';
  const found = readFileSync(file, 'utf8');
  if (found === text) return 'same';
  const [header = '', written] = HEADER.exec(found) ?? [];
  return written === digest(found.slice(header.length)) ? 'older' : 'changed';
}

/** Writes the file in one step: systemd never reads half of it. */
export function writeUnitFile(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o644 });
  renameSync(`${file}.new`, file);
}

function digest(unit: string): string {
  return createHash('sha256').update(unit).digest('hex');
}
