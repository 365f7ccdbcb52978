import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import vectors from '../../fixtures/files.json' with { type: 'json' };
import { contentOf, partOf } from '../../support/evidence-files.ts';
import {
  entry,
  files,
  forgedParts,
  malformedLists,
  misplacedParts,
  photo,
} from '../../support/forged-files.ts';
import { runPython } from '../../support/python-verifier.ts';

let folder: string;
const fileOf = (bytes: number) => path.join(folder, `${bytes}.bin`);

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'svc-files-py-'));
  for (const { bytes } of vectors.files) writeFileSync(fileOf(bytes), contentOf(bytes));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const partOfVector = ({ bytes, first_byte, last_byte }: (typeof vectors.parts)[number]) =>
  partOf(contentOf(bytes), first_byte, last_byte);

/** Which file a part is of; null for none, false if the document is no part. */
const judge = `
def judged(part, entries):
    try:
        read = verify.read_part(json.dumps(part).encode())
    except verify.Refused:
        return False
    found = verify.file_of_part(read, entries)
    return found and found["name"]
`;

describe('examples/verify.py', () => {
  it('hashes the files of the vectors', (context) => {
    const code = 'print(json.dumps([verify.digest_of(path) for path in json.load(sys.stdin)]))';
    const paths = vectors.files.map(({ bytes }) => fileOf(bytes));

    expect(runPython(context, code, paths)).toEqual(vectors.files);
  });

  it('accepts the parts of the vectors', (context) => {
    const code = `${judge}
print(json.dumps([judged(*each) for each in json.load(sys.stdin)]))
`;
    const cases = vectors.parts.map((vector) => [
      partOfVector(vector),
      [{ name: 'run.mcap', bytes: vector.bytes, root: vector.root }],
    ]);

    expect(runPython(context, code, cases)).toEqual(cases.map(() => 'run.mcap'));
  });

  it('hashes the evidence of the vectors and lists its files', (context) => {
    const code = `
proof = verify.parse_strict(json.dumps(json.load(sys.stdin)))
listed = verify.listed_files({"proof": proof})
print(json.dumps(["0x" + verify.hash_json(proof).hex(), [each["root"] for each in listed]]))
`;
    const { value, proof_hash } = vectors.evidence;

    expect(runPython(context, code, value)).toEqual([
      proof_hash,
      value.files.entries.map(({ root }) => root),
    ]);
  });

  it('refuses every forged manifest', (context) => {
    const code = `
def reason(files):
    try:
        verify.listed_files({"proof": verify.parse_strict(json.dumps({"files": files}))})
    except verify.Refused as error:
        return type(error).__name__
print(json.dumps([reason(each) for each in json.load(sys.stdin)]))
`;
    const lists = [files, ...malformedLists.map(([, forged]) => forged)];

    const reasons = runPython<(string | null)[]>(context, code, lists);

    expect(reasons[0]).toBeNull();
    expect(reasons.slice(1)).not.toContain(null);
  });

  it('refuses every forged part', (context) => {
    const code = `${judge}
parts, entries = json.load(sys.stdin)
print(json.dumps([judged(part, entries) for part in parts]))
`;
    const parts = [...forgedParts, ...misplacedParts].map(([, forged]) => forged);

    expect(runPython(context, code, [parts, [photo, entry]])).toEqual([
      ...forgedParts.map(() => false),
      ...misplacedParts.map(() => null),
    ]);
  });
});

describe('the Python client', () => {
  it('writes the manifest of the vectors', (context) => {
    const code = `
sys.path.insert(0, 'clients/python/src')
from robot_svc.evidence import with_files
print(json.dumps(with_files({}, json.load(sys.stdin))['files']))
`;
    const paths = vectors.files.map(({ bytes }) => fileOf(bytes));

    expect(runPython(context, code, paths)).toEqual({
      format: 'svc-files/1',
      chunk_bytes: 1_048_576,
      entries: vectors.files.map((vector) => ({
        name: `${vector.bytes}.bin`,
        media_type: 'application/octet-stream',
        ...vector,
      })),
    });
  });
});
