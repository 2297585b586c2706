/**
 * Wraps an HTTP/2 stream as a plain connection for Node's HTTP client. Each piece is written by itself, as bytes: with
 * several strings at once Node 24.21 frees their buffer before the HTTP/2 stream has sent it, and would send other
 * memory of the process instead.
 */
import type { ClientHttp2Stream } from 'node:http2';
import { Duplex } from 'node:stream';

export class TunnelConnection extends Duplex {
  readonly #stream: ClientHttp2Stream;

  constructor(stream: ClientHttp2Stream) {
    super({ decodeStrings: true, allowHalfOpen: true });
    this.#stream = stream;
    stream.on('data', (piece: Buffer) => {
      if (!this.push(piece)) stream.pause();
    });
    stream.once('end', () => this.push(null));
    stream.on('error', (error) => this.destroy(error));
    // A close without an end means that the tunnel broke.
    stream.once('close', () => {
      if (stream.readableEnded) this.destroy();
      else this.destroy(new Error('the tunnel was cut'));
    });
  }

  override _read(): void {
    this.#stream.resume();
  }

  override _write(piece: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#stream.write(piece, done);
  }

  override _final(done: () => void): void {
    this.#stream.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#stream.destroy();
    done(error);
  }
}
