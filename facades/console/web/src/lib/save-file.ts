/** Lets somebody keep bytes as a file. */

/** Under this name, where the browser puts what it downloads. */
export function saveFile(payload: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(payload);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
