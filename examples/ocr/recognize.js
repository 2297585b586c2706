/** Reads text from images with tesseract.js. Program and language data come from npm packages; nothing is downloaded. */

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createWorker, OEM } from 'tesseract.js';

const languageDir = join(
  dirname(createRequire(import.meta.url).resolve('@tesseract.js-data/eng/package.json')),
  '4.0.0_best_int',
);
/** Images that come with this example, by the name that a job may use. */
const SAMPLES = new Set(['sample.png']);

/** One recognizer for the life of the process: making it costs most of a second, reading a page with it far less. */
export async function createRecognizer() {
  const tesseract = await createWorker('eng', OEM.LSTM_ONLY, {
    langPath: languageDir,
    gzip: true,
    cacheMethod: 'none',
    // Without one, tesseract.js throws a second time outside of any call, which would end the worker on a damaged image.
    errorHandler: () => {},
  });
  return {
    /** Text of an image, how sure tesseract is of it (0 to 100), and the single words. */
    async read(image) {
      const { data } = await tesseract
        .recognize(await loadImage(image), {}, { text: true, blocks: true })
        .catch((error) => {
          throw new Error(`the image cannot be read: ${String(error.message ?? error).replace(/^Error: /, '')}`);
        });
      return { text: data.text.trim(), confidence: data.confidence, words: wordsOf(data.blocks ?? []) };
    },
    close: () => tesseract.terminate(),
  };
}

/** A data URI, base64, or the name of a sample, as bytes. */
async function loadImage(image) {
  if (typeof image !== 'string' || image === '') {
    throw new Error('`image` must be a data URI, base64 text or the name of a sample (sample.png)');
  }
  if (SAMPLES.has(image)) return readFile(join(import.meta.dirname, image));
  const base64 = /^data:image\/[a-z0-9.+-]+;base64,/i.test(image) ? image.slice(image.indexOf(',') + 1) : image;
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length < 16)
    throw new Error('`image` is neither a data URI, base64 text nor the name of a sample (sample.png)');
  return bytes;
}

function wordsOf(blocks) {
  const lines = blocks.flatMap((block) => block.paragraphs).flatMap((paragraph) => paragraph.lines);
  return lines
    .flatMap((line) => line.words)
    .map(({ text, confidence, bbox }) => ({
      text,
      confidence: Math.round(confidence),
      box: [bbox.x0, bbox.y0, bbox.x1, bbox.y1],
    }));
}
