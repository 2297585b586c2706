/** Lines of the agent's log for people. */
import type { Output, TextStyle } from '../output/output.ts';
import { printable } from '../output/printable.ts';

/** Fields that every line has and nobody at a terminal needs. */
const HIDDEN = new Set(['level', 'time', 'pid', 'name', 'msg', 'err']);
const WARN = 40;
const ERROR = 50;

/** Formats a log line: `12:30:01 agent started  machineId=… gpus=2`. Other text is returned unchanged. */
export function agentLogLine(line: string, output: Output): string {
  const fields = parse(line);
  if (fields === undefined) return printable(line);
  const { level, time, msg, err } = fields;
  const shown = Object.entries(fields)
    .filter(([name]) => !HIDDEN.has(name))
    .map(([name, value]) => `${name}=${valueText(value)}`);
  const fault = typeof err === 'object' && err !== null && 'message' in err ? [`error=${valueText(err.message)}`] : [];
  const clock = typeof time === 'number' || typeof time === 'string' ? new Date(time).toTimeString().slice(0, 8) : '';
  const text = printable([msg, ...shown, ...fault].join('  '));
  const style: TextStyle | undefined = Number(level) >= ERROR ? 'red' : Number(level) >= WARN ? 'yellow' : undefined;
  return `${output.style('dim', clock)} ${style ? output.style(style, text) : text}`;
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
