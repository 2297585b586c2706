/**
 * Fields of messages in pieces, so that texts of users, which may have many megabytes, are not copied for every message
 * that they stand in.
 */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** A field whose bytes are these pieces: a text, or a message whose fields may stand in any order. */
export function inField(field: number, pieces: readonly Uint8Array[]): Uint8Array[] {
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return [new BinaryWriter().tag(field, WireType.LengthDelimited).uint32(bytes).finish(), ...pieces];
}
