/** After which rpcs a resting loop may have work. */

import { mayChange } from '@slipway/core/rpc/server/may-change';
import * as access from '@slipway/proto/gen/slipway/v1/access_service';
import * as endpoints from '@slipway/proto/gen/slipway/v1/endpoint_service';
import * as jobs from '@slipway/proto/gen/slipway/v1/job_service';
import * as machines from '@slipway/proto/gen/slipway/v1/machine_service';
import * as volumes from '@slipway/proto/gen/slipway/v1/volume_service';
import t from 'tap';

const services = [
  access.AccessServiceService,
  access.KeyServiceService,
  endpoints.EndpointServiceService,
  jobs.JobServiceService,
  machines.MachineServiceService,
  volumes.VolumeServiceService,
];

t.test('all rpcs may, except those that read', async (t) => {
  const paths = services.flatMap((service) => Object.values(service).map(({ path }) => path));
  const reading = paths.filter((path) => !mayChange(path)).map((path) => path.split('/')[2]!);
  t.same(
    reading.filter((name) => !/^(?:Check|Explain|Get|List|Read|Search|Wait|WhatIf)/.test(name)),
    [],
  );
  const changing = paths.filter(mayChange).map((path) => path.split('/')[2]!);
  for (const name of ['SetQuota', 'CordonMachine', 'DrainMachine', 'UpdateNetworkVolume', 'RedriveWebhook', 'Pipeline'])
    t.ok(changing.includes(name), name);
  t.same(
    changing.filter((name) => /^(?:Get|List|Read|Search|Explain)/.test(name)),
    [],
  );
});

t.test('nor do repeated reports of parts, or health checks; an unknown rpc may', async (t) => {
  for (const path of ['/slipway.v1.EdgeService/ReportRequests', '/grpc.health.v1.Health/Check'])
    t.notOk(mayChange(path), path);
  t.ok(mayChange('/slipway.v1.NewService/Mend'));
});
