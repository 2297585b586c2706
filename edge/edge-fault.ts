/** A fault that the operator must fix. The text explains it. */
export class EdgeFault extends Error {}
