// A thread that hashes a file. It gets a File, and answers its digest, or null if the file cannot be read.
import { concatBytes } from '@noble/hashes/utils.js';
import { CHUNK_BYTES, digestChunks, portableSha256 } from '../../../proof/files/digest.ts';

addEventListener('message', async ({ data: file }: MessageEvent<File>) => {
  postMessage(await digestChunks(chunksOf(file), portableSha256()).catch(() => null));
});

async function* chunksOf(file: File) {
  for (let at = 0; at < file.size; at += CHUNK_BYTES) {
    const bytes = await file.slice(at, at + CHUNK_BYTES).arrayBuffer();
    yield concatBytes(Uint8Array.of(0), new Uint8Array(bytes));
  }
}
