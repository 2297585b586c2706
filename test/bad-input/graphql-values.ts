/** Values that GraphQL operations reject: of fields, and of things that are named. */

import { named, refusedWith } from './graphql-case.ts';

const save = (fields: string): string => `mutation { saveEndpoint(input: { id: "{endpoint}", ${fields} }) { id } }`;
const create = (fields: string): string =>
  `mutation { saveEndpoint(input: { name: "x", templateId: "{template}", ${fields} }) { id } }`;
const volume = (fields: string): string => `mutation { createNetworkVolume(input: { ${fields} }) { id } }`;
const registry = (fields: string): string => `mutation { saveRegistryAuth(input: { ${fields} }) { id } }`;
const pod = (fields: string): string => `mutation { podFindAndDeployOnDemand(input: { name: "x", ${fields} }) { id } }`;

/** Fields that are out of range or make no sense. */
export const VALUES = named<string>(
  [
    ['workersMin above workersMax', save('workersMin: 5, workersMax: 2')],
    ['workersMin negative', save('workersMin: -1')],
    ['workersMax above 10,000', save('workersMax: 10001')],
    ['idleTimeout 0', save('idleTimeout: 0')],
    ['idleTimeout 0 of a new endpoint', create('gpuIds: "", idleTimeout: 0')],
    ['scalerValue 0 of a new endpoint', create('gpuIds: "", scalerValue: 0')],
    ['workerConcurrency 0 of a new endpoint', create('gpuIds: "", workerConcurrency: 0')],
    ['idleTimeout 3,601', save('idleTimeout: 3601')],
    ['scalerType unknown', save('scalerType: "BOTH"')],
    ['scalerType in small letters', save('scalerType: "queue_delay"')],
    ['scalerValue 0', save('scalerValue: 0')],
    ['workerConcurrency 0', save('workerConcurrency: 0')],
    ['workerConcurrency 101', save('workerConcurrency: 101')],
    ['type changed', save('type: "LB"')],
    ['type unknown', create('type: "SERVERLESS"')],
    ['gpuIds unknown', save('gpuIds: "AMPERE_17"')],
    ['gpuIds that exclude everything', save('gpuIds: "ADA_24,-NVIDIA GeForce RTX 4090"')],
    ['gpuCount negative', save('gpuCount: -1')],
    ['gpuCount 65', save('gpuCount: 65')],
    ['executionTimeoutMs 4,999', save('executionTimeoutMs: 4999')],
    ['executionTimeoutMs negative', save('executionTimeoutMs: -1')],
    ['allowedCudaVersions no version', save('allowedCudaVersions: "new"')],
    ['minCudaVersion no version', save('minCudaVersion: "latest"')],
    ['name empty on change', save('name: ""')],
    ['name of 192 characters', save(`name: "${'n'.repeat(192)}"`)],
    ['name with NUL', save('name: "a\\u0000b"')],
    ['env with a name that is none', save('env: [{ key: "1 A", value: "x" }]')],
    ['env with NUL', save('env: [{ key: "A", value: "\\u0000" }]')],
    ['template unknown on change', save('templateId: "none"')],
    ['template of another account', save('templateId: "{otherTemplate}"')],
    ['template for pods', save('templateId: "{podTemplate}"')],
    ['sizes of a GPU endpoint', save('instanceIds: ["cpu3c-2-4"]')],
    ['size that is none', create('instanceIds: ["big"]')],
    ['volume unknown', save('networkVolumeId: "none"')],
    ['volume of another account', save('networkVolumeId: "{otherVolume}"')],
    ['modelReferences', save('modelReferences: ["gpt2"]')],
    ['modelReferences of elsewhere', create('modelReferences: ["https://x.example/a/b"]')],
    ['modelReferences twice', save('modelReferences: ["a/b", "a/b:main"]')],
    ['hubReleaseId', create('hubReleaseId: "x"')],
    ['flashEnvironmentId', create('flashEnvironmentId: "x"')],
    ['template and templateId', create('template: { name: "t", imageName: "x" }')],
    ['no template', 'mutation { saveEndpoint(input: { name: "x" }) { id } }'],
    ['template without a name', 'mutation { saveTemplate(input: { imageName: "x" }) { id } }'],
    ['template without anything', 'mutation { saveTemplate { id } }'],
    [
      'template with negative disk',
      'mutation { saveTemplate(input: { id: "{template}", containerDiskInGb: -1 }) { id } }',
    ],
    [
      'template with a port that is none',
      'mutation { saveTemplate(input: { id: "{template}", ports: "http" }) { id } }',
    ],
    [
      'template with credentials of another account',
      'mutation { saveTemplate(input: { id: "{template}", containerRegistryAuthId: "{otherAuth}" }) { id } }',
    ],
    ['volume without a name', volume('name: "", size: 1, dataCenterId: "A"')],
    ['volume without a place', volume('name: "x", size: 1, dataCenterId: ""')],
    ['volume of negative size', volume('name: "x", size: -1, dataCenterId: "A"')],
    ['volume of 4,097 GB', volume('name: "x", size: 4097, dataCenterId: "A"')],
    ['volume that shrinks', 'mutation { updateNetworkVolume(input: { id: "{volume}", size: 4 }) { id } }'],
    ['credentials without a name', registry('name: "", username: "u", password: "p"')],
    ['credentials without a password', registry('name: "x", username: "u", password: ""')],
    [
      'credentials with a password of 16,385 characters',
      registry(`name: "x", username: "u", password: "${'p'.repeat(16_385)}"`),
    ],
    ['pod without anything to run', pod('gpuTypeId: "NVIDIA L4"')],
    ['pod with an unknown GPU', pod('imageName: "x", gpuTypeId: "NVIDIA Nothing"')],
    ['pod with an unknown template', pod('imageName: "x", templateId: "none"')],
    ['pod with a port that is none', pod('imageName: "x", ports: "all"')],
    ['pod with stopAfter', pod('imageName: "x", stopAfter: "2030-01-01T00:00:00Z"')],
    [
      'SSH key of 16,385 characters',
      `mutation { updateUserSettings(input: { pubKey: "${'k'.repeat(16_385)}" }) { id } }`,
    ],
  ],
  refusedWith('INVALID_REQUEST'),
  (query) => ({ query }),
);

/** Things that are not there, not the caller's, or in use. */
export const THINGS = [
  ...named<string>(
    [
      ['unknown endpoint', 'mutation { saveEndpoint(input: { id: "none", name: "x" }) { id } }'],
      ['endpoint of another account', 'mutation { saveEndpoint(input: { id: "{otherEndpoint}", name: "x" }) { id } }'],
      ['delete an unknown endpoint', 'mutation { deleteEndpoint(id: "none") }'],
      ['delete an endpoint of another account', 'mutation { deleteEndpoint(id: "{otherEndpoint}") }'],
      ['delete an endpoint id with NUL', 'mutation { deleteEndpoint(id: "\\u0000") }'],
      [
        'other template for an endpoint of another account',
        'mutation { updateEndpointTemplate(input: { endpointId: "{otherEndpoint}", templateId: ' +
          '"{template}" }) { id } }',
      ],
      ['no input for another template', 'mutation { updateEndpointTemplate { id } }'],
    ],
    refusedWith('ENDPOINT_NOT_FOUND'),
    (query) => ({ query }),
  ),
  ...named<string>(
    [
      [
        'template of another account, change',
        'mutation { saveTemplate(input: { id: "{otherTemplate}", name: "x" }) { id } }',
      ],
      ['unknown template, delete', 'mutation { deleteTemplate(templateName: "none") }'],
      ['template without a name, delete', 'mutation { deleteTemplate }'],
      ['template of another account, delete', 'mutation { deleteTemplate(templateName: "other") }'],
    ],
    refusedWith('TEMPLATE_NOT_FOUND'),
    (query) => ({ query }),
  ),
  ...named<string>(
    [
      ['volume of another account, delete', 'mutation { deleteNetworkVolume(input: { id: "{otherVolume}" }) }'],
      [
        'volume of another account, change',
        'mutation { updateNetworkVolume(input: { id: "{otherVolume}", name: "x" }) { id } }',
      ],
      ['credentials of another account, delete', 'mutation { deleteRegistryAuth(registryAuthId: "{otherAuth}") }'],
      [
        'credentials of another account, change',
        'mutation { updateRegistryAuth(input: { id: "{otherAuth}", username: "u", password: "p" }) { id } }',
      ],
      ['unknown pod, stop', 'mutation { podStop(input: { podId: "none" }) { id } }'],
      ['unknown pod, resume', 'mutation { podResume(input: { podId: "none", gpuCount: 1 }) { id } }'],
      ['unknown pod, terminate', 'mutation { podTerminate(input: { podId: "none" }) }'],
    ],
    refusedWith('NOT_FOUND'),
    (query) => ({ query }),
  ),
  {
    name: 'delete with workers above zero',
    query: 'mutation { deleteEndpoint(id: "{endpoint}") }',
    ...refusedWith('WORKERS_NOT_ZERO'),
  },
  {
    name: 'template in use, delete',
    query: 'mutation { deleteTemplate(templateName: "own") }',
    ...refusedWith('IN_USE'),
  },
  {
    name: 'template name taken',
    query: 'mutation { saveTemplate(input: { name: "own", imageName: "x" }) { id } }',
    ...refusedWith('NAME_TAKEN'),
  },
  {
    name: 'credentials name taken',
    query: registry('name: "own", username: "u", password: "p"'),
    ...refusedWith('NAME_TAKEN'),
  },
  {
    name: 'pod without room',
    query: pod('imageName: "x", dockerArgs: "sleep 1", gpuTypeId: "NVIDIA H200"'),
    ...refusedWith('NO_CAPACITY'),
  },
];
