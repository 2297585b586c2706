/** Names of endpoints for images. */

/** Returns the last part of an image's name, without tag and digest. */
export function nameOfImage(image: string): string {
  return image.split('@', 1)[0]!.split('/').at(-1)!.split(':', 1)[0]!;
}
