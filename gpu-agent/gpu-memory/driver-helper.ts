/**
 * The helper process of the agent that calls the driver. A call may hang for ever, and takes seconds otherwise, so none
 * is made in the agent itself: it kills this process when the time limit is over. This process ends with the agent,
 * also in the middle of a call.
 *
 *   node gpu-agent/gpu-memory/driver-helper.ts
 */
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { checkpointProgram } from './checkpoint-program.ts';
import type { DriverCalls } from './driver-calls.ts';
import { openDriver } from './driver-calls.ts';
import type { HelperRequest, HelperResponse } from './helper-protocol.ts';
import { RESPONSES } from './helper-protocol.ts';

let driver: Promise<DriverCalls> | undefined;

// An exit would wait for a call that hangs on another thread. 0 is its process group: this process, and a program that
// it runs.
process.stdin.on('close', () => process.kill(0, 'SIGKILL'));
for await (const line of createInterface({ input: process.stdin })) {
  const response = await respond(JSON.parse(line) as HelperRequest);
  writeSync(RESPONSES, `${JSON.stringify(response)}\n`);
}

async function respond(request: HelperRequest): Promise<HelperResponse> {
  try {
    const calls = await (driver ??= openDriver(checkpointProgram));
    if (request.do === 'offload') await offload(calls, request.pids, request.lockTimeoutMs);
    if (request.do === 'restore') await restore(calls, request.pids);
    return { ok: true };
  } catch (error) {
    return { ok: false, error: (error as Error).message };
  }
}

/** Locks all processes, then moves the memory of all. If one fails, the others are brought back. */
async function offload(calls: DriverCalls, pids: readonly number[], lockTimeoutMs: number): Promise<void> {
  const undo: (() => Promise<void>)[] = [];
  try {
    for (const pid of pids) {
      await calls.lock(pid, lockTimeoutMs);
      undo.push(() => calls.unlock(pid));
    }
    for (const pid of pids) {
      await calls.checkpoint(pid);
      undo.push(() => calls.restore(pid));
    }
  } catch (error) {
    for (const step of undo.reverse()) await step().catch(() => undefined);
    throw error;
  }
}

/** Restores all processes before any of them continues: they may share memory. */
async function restore(calls: DriverCalls, pids: readonly number[]): Promise<void> {
  for (const pid of pids) await calls.restore(pid);
  for (const pid of pids) await calls.unlock(pid);
}
