import { CHUNK_BYTES } from '../../src/proof/files/digest.ts';
import type { FilePart } from '../../src/proof/files/part.ts';
import { contentOf, entryOf, partOf } from './evidence-files.ts';

export const size = 3 * CHUNK_BYTES + 5;
export const content = contentOf(size);
export const entry = entryOf('run.mcap', content);
export const photo = entryOf('photo.jpg', contentOf(1000));
export const files = { format: 'svc-files/1', chunk_bytes: CHUNK_BYTES, entries: [entry, photo] };

const without = (object: object, name: string) =>
  Object.fromEntries(Object.entries(object).filter(([each]) => each !== name));
const withEntry = (members: object) => ({ ...files, entries: [{ ...entry, ...members }] });

/** Manifests that must not be read. */
export const malformedLists: [string, unknown][] = [
  ['another version', { ...files, format: 'svc-files/2' }],
  ['another size of chunks', { ...files, chunk_bytes: CHUNK_BYTES / 2 }],
  ['no size of chunks', without(files, 'chunk_bytes')],
  ['no entries', without(files, 'entries')],
  ['an empty list', { ...files, entries: [] }],
  ['entries that are an object', { ...files, entries: { 0: entry } }],
  ['an entry that is text', { ...files, entries: ['run.mcap'] }],
  ['a member that no check covers', { ...files, signed: true }],
  ['a member of an entry that no check covers', withEntry({ author: 'arm-1' })],
  ['no name', { ...files, entries: [without(entry, 'name')] }],
  ['an empty name', withEntry({ name: '' })],
  ['a name with a folder', withEntry({ name: '../run.mcap' })],
  ['a name of 256 characters', withEntry({ name: 'a'.repeat(256) })],
  ['a media type without a slash', withEntry({ media_type: 'image' })],
  ['a negative size', withEntry({ bytes: -1 })],
  ['half a byte', withEntry({ bytes: 0.5 })],
  ['2^53 bytes', withEntry({ bytes: 2 ** 53 })],
  ['a size as text', withEntry({ bytes: String(size) })],
  ['an upper-case hash', withEntry({ sha256: entry.sha256.toUpperCase().replace('X', 'x') })],
  ['a hash without 0x', withEntry({ sha256: entry.sha256.slice(2) })],
  ['a short root', withEntry({ root: entry.root.slice(0, -2) })],
  ['no root', { ...files, entries: [without(entry, 'root')] }],
];

export const part = partOf(content, CHUNK_BYTES + 10, 2 * CHUNK_BYTES + 20);

/** Documents that are no parts. */
export const forgedParts: [string, unknown][] = [
  ['another version', { ...part, format: 'svc-part/2' }],
  ['a member that no check covers', { ...part, name: 'run.mcap' }],
  ['no chunks', { ...part, chunks: [] }],
  ['129 chunks', { ...part, chunks: Array(129).fill('0x00') }],
  ['an empty chunk', { ...part, chunks: ['0x', part.chunks[1]] }],
  ['a chunk of more than 1 MiB', { ...part, chunks: [`${part.chunks[0]}00`, part.chunks[1]] }],
  ['a chunk in upper case', { ...part, chunks: part.chunks.map((each) => each.toUpperCase()) }],
  ['a path that is text', { ...part, path: part.path.join('') }],
  ['a byte before the first', { ...part, first_byte: -1 }],
  ['a byte that is text', { ...part, last_byte: '20' }],
];

/** Parts that lead to no listed file. */
export const misplacedParts: [string, FilePart][] = [
  ['another root', { ...part, root: photo.root }],
  ['a path without its last hash', { ...part, path: part.path.slice(0, -1) }],
  ['a path with one hash more', { ...part, path: [...part.path, entry.root] }],
  ['a path in another order', { ...part, path: part.path.toReversed() }],
  ['chunks in another order', { ...part, chunks: part.chunks.toReversed() }],
  ['a chunk less', { ...part, chunks: part.chunks.slice(0, 1) }],
  ['a shorter chunk', { ...part, chunks: [part.chunks[0], '0x00'] as FilePart['chunks'] }],
  ['the place of other chunks', { ...part, first_byte: 10, last_byte: CHUNK_BYTES + 20 }],
  ['bytes beyond the end', { ...part, last_byte: size }],
  ['an end before its beginning', { ...part, last_byte: CHUNK_BYTES + 9 }],
  [
    'one bit changed',
    { ...part, chunks: [part.chunks[0]?.replace(/.$/, '1'), part.chunks[1]] as never },
  ],
];
