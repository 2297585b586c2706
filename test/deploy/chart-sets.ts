/** Values with which tests render the chart. */

/** Value sets that between them render every branch. */
export const SETS: Record<string, string[]> = {
  'to try it': ['postgresql.enabled=true'],
  'with everything of the operator': [
    ...['database.existingSecret=db-app', 'secrets.existingSecret=own-keys', 'core.tls.existingSecret=own-core'],
    ...['core.tls.ca=-----BEGIN CERTIFICATE-----', 'edge.tls.existingSecret=own-edge', 'agent.existingSecret=own-join'],
    ...['edge.service.type=LoadBalancer', 'edge.service.loadBalancerSourceRanges={10.0.0.0/8}', 'setup.example=false'],
    ...[
      'agent.namespace=gpu',
      'agent.createNamespace=false',
      'agent.volumeClaim=shared',
      'agent.podTemplate.schedulerName=kai',
    ],
    ...[
      'metrics.serviceMonitor.enabled=true',
      'metrics.prometheusRule.enabled=true',
      'metrics.dashboards.enabled=true',
    ],
    ...[
      'image.prefix=registry.example/slipway',
      'image.tag=1.2.3',
      'image.pullSecrets={pull}',
      'networkPolicy.nodes={10.1.0.0/16}',
    ],
    ...[
      'core.env.SLIPWAY_LOG_LEVEL=debug',
      'core.podLabels.team=a',
      'facade.autoscaling.enabled=false',
      'facade.priorityClassName=high',
    ],
  ],
  'without edge and agents': [
    ...['database.existingSecret=db-app', 'edge.enabled=false', 'agent.enabled=false', 'networkPolicy.enabled=true'],
    ...['metrics.serviceMonitor.enabled=true'],
  ],
};
