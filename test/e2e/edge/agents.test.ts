// test: postgres, envoy, grpcurl, 10 s
/**
 * Agents, facades and commands that reach core through the real edge over TLS, agents with certificates of their own;
 * and the errors for a wrong certificate.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildFacade } from '@slipway/facades/app';
import { readFacadeConfig } from '@slipway/facades/config';
import { pino } from 'pino';
import type { Test } from 'tap';
import t from 'tap';
import { grpcurl, skipWithoutGrpcurl } from '../../helpers/grpc/grpcurl.ts';
import { makeCertificates, skipWithoutEnvoy, startEdge } from '../../helpers/system/edge.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
const run = promisify(execFile);
const CLI = join(import.meta.dirname, '../../../cli/slipway.mjs');

/** Returns a logger and the agent's log entries. */
function recorded() {
  const lines: string[] = [];
  return {
    lines,
    logger: pino(
      { level: 'warn' },
      {
        write: (line: string) => {
          lines.push(line);
        },
      },
    ),
  };
}

t.test('through the edge', { skip: skipWithoutEnvoy() }, async (t) => {
  const log = recorded();
  const [system, certificates] = [await startSystem(t, { agents: 0, logger: log.logger }), await makeCertificates(t)];
  const { file, issue } = certificates;
  certificates.authority('other');
  issue('rack-1', 'URI:slipway://agent/rack-1');
  issue('late', 'URI:slipway://agent/rack-1', { days: 0 });
  issue('alien', 'URI:slipway://agent/rack-1', { ca: 'other' });
  const edge = await startEdge(t, {
    SLIPWAY_EDGE_FACADES: new URL(system.url).host,
    SLIPWAY_CORE_ADDRESS: system.cores[0]!.address,
    ...certificates.env,
    SLIPWAY_EDGE_GRPC_LISTEN: '127.0.0.1:0',
    SLIPWAY_EDGE_AGENT_LISTEN: '127.0.0.1:0',
    SLIPWAY_EDGE_AGENT_CA_FILE: file('ca.pem'),
    SLIPWAY_EDGE_AGENT_URI_PREFIX: 'slipway://agent/',
    SLIPWAY_EDGE_DRAIN_MS: '100',
  });
  const [agents, grpc] = [`grpcs://${edge.addresses['agents']}`, `grpcs://${edge.addresses['grpc']}`];
  const CA = { SLIPWAY_CORE_CA_FILE: file('ca.pem') };
  const as = (name: string) => ({
    ...CA,
    SLIPWAY_CORE_CERT_FILE: file(`${name}.pem`),
    SLIPWAY_CORE_CERT_KEY_FILE: file(`${name}.key`),
  });

  await t.test('an agent that is not admitted gets the reason', async (t) => {
    const told = async (t: Test, address: string, env: Record<string, string>, text: RegExp): Promise<void> => {
      log.lines.length = 0;
      const agent = await system.startAgent(address, env);
      await waitFor(
        String(text),
        () => log.lines.some((line) => text.test(line)) || (log.lines.length > 3 && log.lines.join('')),
      );
      t.match(log.lines.join(''), text);
      await agent.stop();
    };
    await told(
      t,
      agents,
      { ...as('rack-1'), SLIPWAY_CORE_CA_FILE: file('other.pem') },
      /authority that is not trusted here; name its file/,
    );
    await told(t, agents, CA, /takes only clients with a certificate/);
    await told(t, agents, as('alien'), /rejects the certificate of this machine/);
    await told(t, agents, as('late'), /rejects the certificate of this machine/);
    await told(t, edge.addresses['agents']!, {}, /where TLS is spoken the address is grpcs:/);
    await told(t, `grpcs://${system.cores[0]!.address}`, CA, /does not speak TLS/);
    await told(t, 'grpcs://127.0.0.1:1', CA, /no process listens there/);
    await told(t, grpc, as('rack-1'), /UNIMPLEMENTED/);
  });

  await t.test('an agent with its certificate carries jobs', async (t) => {
    await system.startAgent(agents, as('rack-1'));
    const endpoint = await system.createEndpoint({ command: jsHandler('all.js') });
    const jobs = endpointJobs(system, endpoint);
    t.match(await jobs.runSync({ mode: 'echo', value: 7 }), { status: 'COMPLETED' });
    const large = 'x'.repeat(3_000_000);
    const done = await jobs.runSync({ mode: 'echo', value: large });
    t.equal(JSON.stringify(done.output).length > large.length, true, 'large payloads have a connection of their own');

    await t.test('the agent survives a renewed certificate of the edge', async (t) => {
      await certificates.renew(2);
      t.match(await jobs.runSync({ mode: 'echo', value: 8 }), { status: 'COMPLETED' });
    });

    await t.test('a facade connects by TLS', async (t) => {
      const facade = buildFacade(
        readFacadeConfig({
          SLIPWAY_CORE_ADDRESS: grpc,
          SLIPWAY_HTTP_HOST: '127.0.0.1',
          SLIPWAY_HTTP_PORT: '0',
          ...CA,
        }),
        { logger: log.logger },
      );
      const { url } = await facade.start();
      t.teardown(() => facade.stop());
      const far = endpointJobs({ request: publicRequest(url, system.key) }, endpoint);
      await waitFor('readiness', async () => (await fetch(`${url}/readyz`)).ok);
      t.match(await far.runSync({ mode: 'echo', value: 9 }), { status: 'COMPLETED' });
    });
  });

  await t.test('commands connect by TLS', async (t) => {
    const env = { PATH: process.env.PATH, SLIPWAY_API_KEY: system.key };
    const slipway = (...args: string[]) => run(process.execPath, [CLI, ...args], { env, cwd: certificates.folder });
    t.match((await slipway('endpoints', 'list', '--core', grpc, '--ca-file', 'ca.pem')).stdout, /QB/);
    for (const [args, text] of [
      [['--core', grpc], /authority that is not trusted here/],
      [['--core', grpc, '--ca-file', 'none.pem'], /cannot be read/],
      [['--core', 'http://x:1'], /HOST:PORT, or grpcs:/],
    ] as const) {
      const failed = await slipway('endpoints', 'list', ...args).then(
        () => undefined,
        (error: unknown) => error,
      );
      const { stderr } = failed as { stderr: string };
      t.match(stderr, text);
    }
  });

  await t.test('grpcurl connects by TLS', { skip: skipWithoutGrpcurl() }, async (t) => {
    const options = ['-cacert', file('ca.pem'), '-H', `authorization: Bearer ${system.key}`, '-d', '{}'];
    const { code, output } = await grpcurl(
      edge.addresses['grpc']!,
      options,
      'slipway.v1.EndpointService/ListEndpoints',
    );
    t.equal(code, 0, output);
    t.match(JSON.parse(output), { endpoints: [{ type: 'QB' }] });
  });
});
