/** Mesh wants a fetch. Nothing of ours may use it. */
export default function noFetch(): Promise<never> {
  return Promise.reject(new Error('the GraphQL facade makes no HTTP calls'));
}
