/** Rejects every call. Mesh requires a fetch, but none of our sources may use it. */
export default function noFetch(): Promise<never> {
  return Promise.reject(new Error('the GraphQL facade makes no HTTP calls'));
}
