// Entry point of the package `robot-svc/files`, for Node.js: files as evidence. It reads files, and sends nothing.
import { createHash, webcrypto } from 'node:crypto';
import { constants, open, stat } from 'node:fs/promises';
import path from 'node:path';
import { SvcError, unreadableFile } from '../base/svc-error.ts';
import { bytesToHex } from '../proof/bytes.ts';
import { CHUNK_BYTES, digestChunks, type FileDigest, type Sha256 } from '../proof/files/digest.ts';
import { FILES_FORMAT, type FileEntry } from '../proof/files/manifest.ts';
import {
  chunkSize,
  chunksOfPart,
  MAX_PART_CHUNKS,
  PART_FORMAT,
  rangePath,
} from '../proof/files/part.ts';
import type { JsonObject, Proof } from '../proof/json-value.ts';
import { isObject } from '../proof/subject/members.ts';

/** Called from time to time with the share of the file that was read, from 0 to 1. Not called for a file without a size. */
export type OnRead = (file: string, share: number) => void;

/** By the end of the name. Readers use it to open the file; no check depends on it. */
const mediaTypes: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.db3': 'application/vnd.sqlite3',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.log': 'text/plain',
  '.mcap': 'application/vnd.mcap',
  '.mp4': 'video/mp4',
  '.png': 'image/png',
  '.txt': 'text/plain',
};

/**
 * The evidence with a member `files`, which lists the files with their hashes. The files stay where they are. Symbolic
 * links are followed.
 *
 * @throws SvcError `usage` if the evidence is an array or has `files` already, or a file cannot be read, is not a
 *   regular file, has more than 1 TiB, or has not the bytes that it states (a file that states 0, such as those of
 *   /proc, has at most 64 MiB); `file_changed` if a file changed while it was read.
 */
export async function attachFiles(
  evidence: Proof,
  files: readonly string[],
  onRead?: OnRead,
): Promise<JsonObject> {
  if (!isObject(evidence) || Object.hasOwn(evidence, 'files')) {
    throw new SvcError('usage', 'The evidence must be a JSON object without a member "files".');
  }
  const entries: (FileEntry & JsonObject)[] = [];
  for (const file of files) {
    const name = path.basename(file);
    const media_type = mediaTypes[path.extname(name).toLowerCase()] ?? 'application/octet-stream';
    const { bytes, sha256, root } = await digestFile(file, onRead);
    entries.push({ name, bytes, media_type, sha256, root });
  }
  return { ...evidence, files: { format: FILES_FORMAT, chunk_bytes: CHUNK_BYTES, entries } };
}

/** @throws SvcError as `attachFiles`. */
export async function digestFile(file: string, onRead?: OnRead): Promise<FileDigest> {
  const opened = await openFile(file);
  try {
    const digest = await digestChunks(
      opened.read(0, Number.POSITIVE_INFINITY, onRead),
      nodeSha256(),
    );
    await opened.requireUnchanged();
    return digest;
  } finally {
    await opened.close();
  }
}

/**
 * The JSON text of a part, in pieces. Bytes are counted from 0, and `lastByte` is part of it.
 *
 * @throws SvcError as `attachFiles`, also after the first pieces; `usage` if the file has no such bytes or they are in
 *   more chunks than a part may have.
 */
export async function* writePart(
  file: string,
  [firstByte, lastByte]: readonly [number, number],
  onRead?: OnRead,
): AsyncGenerator<string, void> {
  const opened = await openFile(file);
  try {
    if (opened.bytes === 0) throw unusable(`${file} is empty or states no size.`);
    const [first, last] = chunksOfPart(firstByte, lastByte);
    if (firstByte > lastByte || lastByte >= opened.bytes || last - first >= MAX_PART_CHUNKS) {
      const chunks = `at most ${MAX_PART_CHUNKS} chunks of 1 MiB`;
      throw new SvcError('usage', `Give bytes from 0 to ${opened.bytes - 1}, in ${chunks}.`);
    }
    const leaves = new Uint8Array(32 * opened.chunks);
    let index = 0;
    const all = opened.read(0, Number.POSITIVE_INFINITY, onRead);
    const { root } = await digestChunks(all, nodeSha256(), (leaf) =>
      leaves.set(leaf, 32 * index++),
    );
    const path = rangePath(leaves, first, last);
    const head = { format: PART_FORMAT, root, first_byte: firstByte, last_byte: lastByte, path };
    yield `${JSON.stringify(head).slice(0, -1)},"chunks":[`;
    let comma = '';
    for await (const chunk of opened.read(first, last)) {
      yield `${comma}"${bytesToHex(chunk.subarray(1))}"`;
      comma = ',';
    }
    await opened.requireUnchanged();
    yield ']}\n';
  } finally {
    await opened.close();
  }
}

/** Hashes chunks on a thread of Node.js's pool, while this thread hashes the whole. */
const nodeSha256 = (): Sha256 => ({
  whole: createHash('sha256'),
  once: async (bytes) => new Uint8Array(await webcrypto.subtle.digest('SHA-256', bytes)),
});

/** What changes with the content of a file, or if its name gets another file. */
const IDENTITY = ['dev', 'ino', 'size', 'mtimeNs', 'ctimeNs'] as const;

/** The largest file, so that a file such as /proc/kcore does not keep its reader busy for days. */
const MAX_BYTES = 2 ** 40;
/** The largest file that states a size of 0, as the files of /proc do: it may never end. */
const MAX_UNSTATED_BYTES = 64 * 2 ** 20;

async function openFile(file: string) {
  // A pipe without a writer would block otherwise.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch((error) => {
    throw unreadableFile(file, error);
  });
  try {
    const before = await handle.stat({ bigint: true });
    if (!before.isFile()) throw new SvcError('usage', `${file} is not a regular file.`);
    const bytes = Number(before.size);
    if (bytes > MAX_BYTES) {
      throw new SvcError('usage', `${file} has more than 1 TiB.`, {
        hint: 'Split the file, and use the pieces.',
      });
    }
    const requireUnchanged = async () => {
      const after = await stat(file, { bigint: true }).catch(() => null);
      if (IDENTITY.some((name) => before[name] !== after?.[name])) throw changed(file);
    };
    /** Reads a chunk behind the first byte of the buffer. Resolves with where it ends. */
    const fill = async (buffer: Uint8Array, index: number) => {
      let end = 1;
      // Only a read of 0 bytes is the end: files of /proc yield a few KiB at a time.
      for (let bytesRead = -1; bytesRead !== 0 && end < buffer.length; end += bytesRead) {
        ({ bytesRead } = await handle
          .read(buffer, end, buffer.length - end, index * CHUNK_BYTES + end - 1)
          .catch((error) => Promise.reject(unreadableFile(file, error))));
      }
      return end;
    };
    const requireSize = async (index: number, size: number) => {
      const isEndless = bytes === 0 && index * CHUNK_BYTES + size > MAX_UNSTATED_BYTES;
      if (isEndless) throw unusable(`${file} states no size, and has more than 64 MiB.`);
      if (bytes === 0 || size === chunkSize(index, bytes)) return;
      await requireUnchanged();
      throw unusable(`${file} does not have the ${bytes} bytes that it states.`);
    };
    return {
      /** The size that the file states; 0 if it is empty or states none. */
      bytes,
      chunks: Math.ceil(bytes / CHUNK_BYTES),
      /** Chunks as `digestChunks` needs them, at most to the end of the file. */
      async *read(first: number, last: number, onRead?: OnRead) {
        const buffers = [new Uint8Array(CHUNK_BYTES + 1), new Uint8Array(CHUNK_BYTES + 1)];
        for (let index = first; index <= last; index++) {
          const buffer = buffers[index % 2] as Uint8Array;
          const end = await fill(buffer, index);
          await requireSize(index, end - 1);
          if (end === 1) return;
          if (bytes > 0) onRead?.(file, (index * CHUNK_BYTES + end - 1) / bytes);
          yield buffer.subarray(0, end);
          if (end < buffer.length) return;
        }
      },
      /** @throws SvcError `file_changed` if name or content is not what it was when the file was opened. */
      requireUnchanged,
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The error for a file whose stated size is of no use. */
function unusable(message: string): SvcError {
  return new SvcError('usage', message, { hint: 'Copy the file, and use the copy.' });
}

function changed(file: string): SvcError {
  return new SvcError('file_changed', `${file} changed while it was read.`, {
    hint: 'Wait until its recording has ended, then repeat.',
    retryable: true,
  });
}
