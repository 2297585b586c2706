/**
 * Fields of messages in pieces, so that texts of users, which may have many megabytes, are not copied for every message
 * that they stand in.
 */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** Encodes a length-delimited field from pieces of its value, without copying them. Returns the pieces of the field. */
export function inField(field: number, pieces: readonly Uint8Array[]): Uint8Array[] {
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return [new BinaryWriter().tag(field, WireType.LengthDelimited).uint32(bytes).finish(), ...pieces];
}
