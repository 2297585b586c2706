/** The operator's to mend; the text says what. */
export class EdgeFault extends Error {}
