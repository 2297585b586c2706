/** Offers bytes as a download. */

/** Saves a file under this name in the browser's download folder. */
export function saveFile(payload: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(payload);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
