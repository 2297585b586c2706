/** Log lines for people: where the log of a part goes, and what a line looks like on a terminal. */
import { styleText } from 'node:util';
import type { DestinationStream } from 'pino';
import { printable } from './printable.ts';

/** Values of SLIPWAY_LOG_FORMAT. `auto`: text on a terminal, otherwise JSON. */
export const LOG_FORMATS = ['auto', 'json', 'text'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

/** Fields that every line has and that are not shown in a terminal. */
const HIDDEN = new Set(['level', 'time', 'pid', 'name', 'msg', 'err']);
const WARN = 40;
const ERROR = 50;

/** Returns the destination that turns lines into text; `undefined` where they stay JSON on standard output. */
export function logDestination(format: LogFormat): DestinationStream | undefined {
  const { stdout } = process;
  if (format === 'json' || (format === 'auto' && !stdout.isTTY)) return undefined;
  return { write: (line) => void stdout.write(`${logText(line.trimEnd())}\n`) };
}

/** Formats a log line: `12:30:01 agent started  machineId=… gpus=2`. Other text is returned without control codes. */
export function logText(line: string): string {
  const fields = parse(line);
  if (fields === undefined) return printable(line);
  const { level, time, msg, err } = fields;
  const shown = Object.entries(fields)
    .filter(([name]) => !HIDDEN.has(name))
    .map(([name, value]) => `${name}=${valueText(value)}`);
  const fault = typeof err === 'object' && err !== null && 'message' in err ? [`error=${valueText(err.message)}`] : [];
  const clock = typeof time === 'number' || typeof time === 'string' ? new Date(time).toTimeString().slice(0, 8) : '';
  const text = printable([msg, ...shown, ...fault].join('  '));
  return `${styleText('dim', clock)} ${colored(Number(level), text)}`;
}

function colored(level: number, text: string): string {
  if (level >= ERROR) return styleText('red', text);
  return level >= WARN ? styleText('yellow', text) : text;
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && 'msg' in value
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
