// test: postgres, schemathesis, 80 s
/**
 * Generated requests from the REST description, valid and invalid ones, over all operations: no internal error, no
 * undocumented status or shape, invalid data rejected, no answer without a key. The agent is scripted, so that no
 * generated command is ever run.
 */
import { readFile } from 'node:fs/promises';
import t from 'tap';
import { ScriptedAgent } from '../../helpers/grpc/scripted-agent.ts';
import { scratch } from '../../helpers/scratch.ts';
import { runSchemathesis, skipWithoutSchemathesis } from '../../helpers/system/schemathesis.ts';
import { startSystem } from '../../helpers/system/system.ts';

const OUTPUT_SHOWN = 6_000;
const EXAMPLES = 2;

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
  const { code, output } = await runSchemathesis(system.url, system.key, folder, path('report.json'), {
    examples: EXAMPLES,
  });
  t.equal(code, 0, 'it found nothing');
  if (code !== 0) t.comment(output.slice(-OUTPUT_SHOWN));
  const report = JSON.parse(await readFile(path('report.json'), 'utf8')) as Report;
  t.match(report, { complete: true, operations: { errored: 0 }, test_cases: { with_failures: 0, errored: 0 } });
  t.equal(report.operations.tested, report.operations.total, 'every operation was called');
  t.ok(report.operations.total >= 36, `${report.operations.total} operations`);
  t.ok(report.test_cases.generated >= 500, `${report.test_cases.generated} requests`);
  for (const phase of ['coverage', 'fuzzing', 'stateful']) t.equal(report.phases[phase]?.status, 'success', phase);
  const answer = await system.request('GET', '/v1/endpoints');
  t.equal(answer.status, 200, 'the service is alive');
});
