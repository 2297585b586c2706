/** Version of the agent, as it is reported to core. */
export const AGENT_VERSION = '0.1.0';
