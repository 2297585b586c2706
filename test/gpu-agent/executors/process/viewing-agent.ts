/** Run by a test: opens a view, says so, and waits to be killed. */
import { hostPrograms } from '../../../../gpu-agent/executors/container/host-programs.ts';
import { HostViews } from '../../../../gpu-agent/executors/process/host-views.ts';

const [of, source, parent] = process.argv.slice(2) as [string, string, string];
const views = new HostViews(of, hostPrograms, parent);
if (await views.isAble()) await views.open(source, { uid: 7_654_321, gid: 7_654_321 });
process.stdout.write('open\n');
for await (const _ of process.stdin) continue;
