/**
 * A JavaScript handler that obeys its input, so that one file serves all specification tests. `input.mode` says what to do:
 *
 * echo      return the input
 * value     return `value` as it is
 * until     wait until the file `file` exists, then return {"done": true}; gives up when it is stopped
 * block     keep the process busy for ever, deaf to everything; only a signal ends it
 * spin      hold `mib` MiB and keep a processor busy until the file `file` exists
 * error     return {"error": `error`}
 * throw     throw an Error with the text `message`
 * fail-after wait until `file` exists, then throw
 * fail-then throw as long as the file `file` does not exist, then return `value`
 * progress  report `value` as progress, wait until `file` exists, then return {"done": true}
 * stream    yield each of `values`; with `gate` wait for the file `gate`/<number of the value> before each; then throw `message` if given
 * repeat    yield a text of `length` times `text`, once
 * metrics   post one chunk with `output` and `metrics` by hand, as the worker protocol has it, then return {"done": true}
 * exit      end the process with `code`; with `once` the first time only: it leaves that file, and who finds it returns {"survived": true}
 * big       return a text of `length` characters
 * size      return the number of characters of `pad`
 * env       return the environment variables called `names`
 * odd       return what JSON has no word for, as `kind` says: date, bigint, nothing or error
 * files     write `write` (texts by name) into the worker's network volume, then return all of its files
 * s3        return what it was given as s3Config, id and secret only as their SHA-256
 *
 * With `note`, the line "<process id>" is appended to that file before anything else.
 */
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { progress, start } from 'slipway-worker';

/** Waits for a file, or for the end of the attempt. */
async function waitForFile(file, signal) {
  while (!existsSync(file)) {
    if (signal?.aborted) throw new Error('stopped');
    await delay(10);
  }
}

async function* stream(input, signal) {
  for (const [index, value] of (input.values ?? []).entries()) {
    if (input.gate) await waitForFile(`${input.gate}/${index + 1}`, signal);
    yield value;
  }
  if (input.gate && input.end) await waitForFile(`${input.gate}/end`, signal);
  if (input.message) throw new Error(input.message);
}

async function* repeat(input) {
  yield input.text.repeat(input.length);
}

/** Longest time without an answer to the agent, in milliseconds. */
const SPIN_MS = 50;

async function spin({ mib, file }) {
  const held = Buffer.alloc(mib * 1024 * 1024, 'x');
  while (!existsSync(file)) {
    const end = performance.now() + SPIN_MS;
    while (performance.now() < end);
    await delay(0);
  }
  return { bytes: held.length };
}

/** The module has no words for metrics; workers of other makes send them. */
async function postMetrics(job) {
  const { RUNPOD_WEBHOOK_POST_STREAM: template, RUNPOD_POD_ID: worker, RUNPOD_AI_API_KEY: key } = process.env;
  const url = `${template.replace('$RUNPOD_POD_ID', worker).replace('$ID', job.id)}&isStream=false`;
  const { output, metrics } = job.input;
  const answer = await fetch(url, {
    method: 'POST',
    headers: { authorization: key },
    body: JSON.stringify({ output, metrics }),
  });
  return { done: answer.ok };
}

function block() {
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
}

function leave(input) {
  if (input.once && existsSync(input.once)) return { survived: true };
  if (input.once) writeFileSync(input.once, '');
  process.exit(input.code ?? 1);
}

function files(folder, texts) {
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text);
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

const digest = (text) => createHash('sha256').update(text).digest('hex');

const ODD = {
  date: () => new Date(0),
  bigint: () => ({ count: 1n }),
  nothing: () => undefined,
  error: () => ({ error: new Error('returned, not thrown'), left: new Date(0) }),
};

const MODES = {
  echo: (input) => input,
  value: (input) => input.value,
  until: async (input, job) => {
    await waitForFile(input.file, job.signal);
    return { done: true };
  },
  block,
  spin,
  error: (input) => ({ error: input.error }),
  throw: (input) => {
    throw new Error(input.message);
  },
  'fail-after': async (input, job) => {
    await waitForFile(input.file, job.signal);
    throw new Error('as asked');
  },
  'fail-then': (input) => {
    if (existsSync(input.file)) return input.value;
    throw new Error('not yet');
  },
  progress: async (input, job) => {
    await progress(job, input.value);
    await waitForFile(input.file, job.signal);
    return { done: true };
  },
  stream: (input, job) => stream(input, job.signal),
  repeat,
  metrics: (_input, job) => postMetrics(job),
  exit: leave,
  big: (input) => 'x'.repeat(input.length),
  size: (input) => ({ size: input.pad.length }),
  env: ({ names }) => Object.fromEntries(names.map((name) => [name, process.env[name] ?? null])),
  odd: ({ kind }) => ODD[kind](),
  files: (input) => files(process.env.RUNPOD_VOLUME_PATH, input.write ?? {}),
  s3: (_input, { s3Config }) => ({
    ...s3Config,
    accessId: digest(s3Config.accessId),
    accessSecret: digest(s3Config.accessSecret),
  }),
};

start({
  handler: (job) => {
    if (job.input.note) appendFileSync(job.input.note, `${process.pid}\n`);
    return (MODES[job.input.mode] ?? MODES.echo)(job.input, job);
  },
});
