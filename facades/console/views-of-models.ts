/** Names of an endpoint's models, as the console's server sends them to its page. */
export interface ModelsView {
  /** Aliases of the endpoint and names that its workers serve. Empty if it is not known to answer OpenAI clients. */
  names: readonly string[];
  /** Name by which the workers know the model. Empty: not known. */
  served: string;
}
