/** A handler in JavaScript: text from an image. Input: {"image": data URI | base64 | "sample.png"}. */
import { start } from 'slipway-worker';
import { createRecognizer } from './recognize.js';

const recognizer = await createRecognizer();

start({ handler: ({ input }) => recognizer.read(input.image) });
