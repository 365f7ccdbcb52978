// The files that evidence lists in its member `files`, and the comparison with files that are given.
import type { Proof } from '../json-value.ts';
import { HASH, isObject, Members, own } from '../subject/members.ts';
import { CHUNK_BYTES, type FileDigest } from './digest.ts';

/** The `format` of a manifest. */
export const FILES_FORMAT = 'svc-files/1';

const NAME = { pattern: /^[^/\0]{1,255}$/u, name: '1 to 255 characters without /' };
const MEDIA_TYPE = { pattern: /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/, name: 'a media type' };

/** One file. Name and media type are statements of the author of the evidence; nothing checks them. */
export interface FileEntry extends FileDigest {
  readonly name: string;
  readonly media_type: string;
}

/** The member `files` of evidence. */
export interface FileManifest {
  readonly format: typeof FILES_FORMAT;
  readonly chunk_bytes: typeof CHUNK_BYTES;
  /** At least one. */
  readonly entries: readonly FileEntry[];
}

export const manifestOf = (entries: readonly FileEntry[]): FileManifest => ({
  format: FILES_FORMAT,
  chunk_bytes: CHUNK_BYTES,
  entries,
});

/**
 * The files that evidence lists; null if it has no `files` with a format that begins with `svc-files/`.
 *
 * @throws DocumentError if a member is missing, malformed or unknown, or the format is another version.
 */
export function readFiles(proof: Proof): readonly FileEntry[] | null {
  const files = Array.isArray(proof) ? undefined : own(proof, 'files');
  const format = isObject(files) ? own(files, 'format') : undefined;
  if (typeof format !== 'string' || !format.startsWith('svc-files/')) return null;
  const manifest = new Members('file manifest', files, 'files');
  manifest.require('format', FILES_FORMAT);
  manifest.require('chunk_bytes', CHUNK_BYTES);
  const entries = manifest.list('entries').map((entry) => {
    const read = {
      name: entry.text('name', NAME),
      bytes: entry.integer('bytes', 0),
      media_type: entry.text('media_type', MEDIA_TYPE),
      sha256: entry.hex('sha256', HASH),
      root: entry.hex('root', HASH),
    };
    entry.requireNoOther();
    return read;
  });
  manifest.requireNoOther();
  return entries;
}

/** A file that is at hand, by its content. */
export interface GivenFile extends FileDigest {
  readonly name: string;
}

/** `differs`: a given file has the name or one of the hashes of the entry, but another content. */
export type FileStatus = 'matches' | 'not_given' | 'differs';

/** An entry, and whether a file with its content was given. */
export interface ComparedFile {
  readonly name: string;
  readonly bytes: number;
  readonly status: FileStatus;
}

/** Compares by content, whatever the names. `unlisted`: files that no entry has or is named like. */
export function compareFiles(
  entries: readonly FileEntry[],
  given: readonly GivenFile[],
): { files: ComparedFile[]; unlisted: GivenFile[] } {
  const others = given.filter((file) => !entries.some((entry) => isSame(entry, file)));
  return {
    files: entries.map((entry) => ({
      name: entry.name,
      bytes: entry.bytes,
      status: statusOf(entry, given, others),
    })),
    unlisted: others.filter((file) => !entries.some((entry) => isAlike(entry, file))),
  };
}

function statusOf(entry: FileEntry, given: readonly GivenFile[], others: readonly GivenFile[]) {
  if (given.some((file) => isSame(entry, file))) return 'matches';
  return others.some((file) => isAlike(entry, file)) ? 'differs' : 'not_given';
}

function isSame(one: FileDigest, other: FileDigest): boolean {
  return one.bytes === other.bytes && one.sha256 === other.sha256 && one.root === other.root;
}

function isAlike(entry: FileEntry, { name, sha256, root }: GivenFile): boolean {
  return entry.name === name || entry.sha256 === sha256 || entry.root === root;
}

/** Whether evidence could be extended by a manifest: an object without a member `files`. */
export function canListFiles(proof: Proof): proof is Exclude<Proof, unknown[]> {
  return !Array.isArray(proof) && !Object.hasOwn(proof, 'files');
}
