/** Run by a test: opens a view, says so, and waits to be killed. */
import { hostPrograms } from '@slipway/gpu-agent/executors/container/host-programs';
import { HostViews } from '@slipway/gpu-agent/executors/process/host-views';

const [of, source, parent] = process.argv.slice(2) as [string, string, string];
const views = new HostViews(of, hostPrograms, parent);
if (await views.isAble()) await views.open(source, { uid: 7_654_321, gid: 7_654_321 });
process.stdout.write('open\n');
for await (const _ of process.stdin);
