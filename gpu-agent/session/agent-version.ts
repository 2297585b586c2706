/** Version of the agent, as it reports it to core. */
export const AGENT_VERSION = '0.1.0';
