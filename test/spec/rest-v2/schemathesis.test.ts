// test: postgres, schemathesis, 50 s
/**
 * Generated requests from the document of REST v2, valid and invalid ones, over all operations: no internal error, no
 * undocumented status or shape, invalid data rejected, no answer without a key. The agent is scripted, so that no
 * generated command is ever run.
 */
import { readFile } from 'node:fs/promises';
import t from 'tap';
import { ScriptedAgent } from '../../helpers/grpc/scripted-agent.ts';
import { scratch } from '../../helpers/scratch.ts';
import { runSchemathesis, skipWithoutSchemathesis } from '../../helpers/system/schemathesis.ts';
import { startSystem } from '../../helpers/system/system.ts';

const OUTPUT_SHOWN = 12_000;
const EXAMPLES = 1;
/** Three logs, and five operations each of clusters, tags and sandboxes. */
const LEFT_OUT = 18;

interface Report {
  complete: boolean;
  operations: { total: number; tested: number; errored: number };
  phases: Record<string, { status: string }>;
  test_cases: { generated: number; with_failures: number; errored: number };
}

t.setTimeout(1_400_000);
t.test('schemathesis', { skip: skipWithoutSchemathesis() }, async (t) => {
  const system = await startSystem(t, { agents: 0 });
  const gpus = ['GPU-1', 'GPU-2'].map((uuid) => ({ uuid, name: 'NVIDIA L4', memoryMib: 24_000, migProfile: '' }));
  const agent = new ScriptedAgent({
    address: system.cores[0]!.address,
    agentKey: system.agentKey,
    gpus,
    locations: ['EU-RO-1', 'RO'],
    cpuSlots: 500,
  });
  await agent.connect();
  t.teardown(() => agent.drop());
  const { folder, path } = await scratch(t);
  // A scripted agent keeps no logs. A feature that is missing here gives 501, which counts as an internal error.
  const options = {
    document: '/v2/openapi.json',
    examples: EXAMPLES,
    exclude: '(/logs|^/v2/(clusters|tags|sandboxes).*)$',
  };
  const { code, output } = await runSchemathesis(system.url, system.key, folder, path('report.json'), options);
  t.equal(code, 0, 'it found nothing');
  if (code !== 0) t.comment(output.slice(-OUTPUT_SHOWN));
  const report = JSON.parse(await readFile(path('report.json'), 'utf8')) as Report;
  t.match(report, { complete: true, operations: { errored: 0 }, test_cases: { with_failures: 0, errored: 0 } });
  t.equal(report.operations.total - report.operations.tested, LEFT_OUT, 'every other operation was called');
  for (const phase of ['coverage', 'fuzzing', 'stateful']) t.equal(report.phases[phase]?.status, 'success', phase);
  t.equal((await system.request('GET', '/v2/templates')).status, 200, 'the service is alive');
});
