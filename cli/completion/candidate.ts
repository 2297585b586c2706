/** A word that fits. */
export interface Candidate {
  word: string;
  /** Its meaning. Empty if there is nothing to say. */
  about: string;
}
