// The files that evidence lists in its member `files`, and the comparison with files that are given.
import { DocumentError } from '../document-error.ts';
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

/**
 * The files that evidence lists in its member `files`, if that has a format that begins with `svc-files/`. Otherwise why
 * there are none: no evidence, no list, or one that is malformed or of another version.
 */
export function listedFiles(proof: Proof | null): readonly FileEntry[] | string {
  if (proof === null) return 'No evidence was given that lists files';
  const files = isObject(proof) ? own(proof, 'files') : undefined;
  const format = isObject(files) ? own(files, 'format') : undefined;
  if (typeof format !== 'string' || !format.startsWith('svc-files/')) {
    return 'The evidence lists no files';
  }
  try {
    return readEntries(new Members('file manifest', files, 'files'));
  } catch (error) {
    if (error instanceof DocumentError) return `The list of files is malformed: ${error.message}`;
    throw error;
  }
}

function readEntries(manifest: Members): FileEntry[] {
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

/** A file that the caller has, by its content. */
export type GivenFile = FileDigest & { readonly name: string };

/**
 * `differs`: a given file has the name of the entry, but another content. `not_listed`: a given file has neither the
 * content nor the name of an entry.
 */
export type FileStatus = 'matches' | 'differs' | 'not_given' | 'not_listed';

/** A listed or given file. */
export interface ComparedFile {
  readonly name: string;
  readonly bytes: number;
  readonly status: FileStatus;
}

/** Compares by content, whatever the names: each entry, then the given files that are not listed. */
export function compareFiles(
  entries: readonly FileEntry[],
  given: readonly GivenFile[],
): ComparedFile[] {
  const others = given.filter((file) => !entries.some((entry) => isSame(entry, file)));
  const unlisted = others.filter((file) => !entries.some(({ name }) => name === file.name));
  const statusOf = (entry: FileEntry): FileStatus => {
    if (given.some((file) => isSame(entry, file))) return 'matches';
    return others.some(({ name }) => name === entry.name) ? 'differs' : 'not_given';
  };
  return [
    ...entries.map((entry) => ({ ...facts(entry), status: statusOf(entry) })),
    ...unlisted.map((file) => ({ ...facts(file), status: 'not_listed' as const })),
  ];
}

const facts = ({ name, bytes }: GivenFile) => ({ name, bytes });

/** A sentence about a compared file. */
export const fileText = ({ name, status }: ComparedFile): string => `${name} ${WORDS[status]}`;

const WORDS: Readonly<Record<FileStatus, string>> = {
  matches: 'matches',
  differs: 'differs',
  not_given: 'was not given',
  not_listed: 'is not a file that the evidence lists',
};

function isSame(one: FileDigest, other: FileDigest): boolean {
  return one.bytes === other.bytes && one.sha256 === other.sha256 && one.root === other.root;
}
