/** The parser of the command line by itself, without a system. */
import { Writable } from 'node:stream';
import { Cli } from '@slipway/cli/cli';
import { readCliConfig } from '@slipway/cli/config';
import { Output } from '@slipway/cli/output/output';
import { buildProgram } from '@slipway/cli/program';
import { systemTransport } from '@slipway/kit/net/channel';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import type { Command } from 'commander';

const sink = (): Writable => new Writable({ write: (_part, _encoding, done) => done() });

/** Builds the parser. `text` returns what it wrote since the last call. `columns`: of the terminal. Default: none. */
export function buildParser(columns?: number): { program: Command; text(): string } {
  let text = '';
  const cli = new Cli({
    config: readCliConfig({}),
    output: new Output(
      columns === undefined ? sink() : Object.assign(sink(), { isTTY: true, columns }),
      sink(),
      systemClock,
    ),
    transport: systemTransport,
    clock: systemClock,
    random: systemRandom,
    stopping: new AbortController().signal,
    stdin: (async function* () {})(),
    replacesProcess: false,
  });
  const program = buildProgram(cli, {
    out: (part) => {
      text += part;
    },
    err: (part) => {
      text += part;
    },
  });
  return {
    program,
    text: () => {
      const written = text;
      text = '';
      return written;
    },
  };
}
