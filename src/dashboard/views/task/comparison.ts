// Compares the expected result of a task with its evidence, member by member. Its own file, so that its test needs no browser.

export interface ComparedMember {
  /** JSON Pointer. */
  path: string;
  /** Undefined if the document does not have the member. */
  expected: unknown;
  evidence: unknown;
  status: 'equal' | 'differs' | 'missing' | 'additional';
}

type Document = Readonly<Record<string, unknown>>;

/** Members of objects and elements of arrays, down to the first that only one of the two documents has. */
export function compareMembers(expected: unknown, evidence: unknown, path = ''): ComparedMember[] {
  const [one, other] = [membersOf(expected), membersOf(evidence)];
  const isSameKind = Array.isArray(expected) === Array.isArray(evidence);
  if (one === null || other === null || !isSameKind) {
    const status = expected === evidence ? 'equal' : 'differs';
    return [{ path, expected, evidence, status }];
  }
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  if (names.length === 0) return [{ path, expected, evidence, status: 'equal' }];
  return names.flatMap((name): ComparedMember[] => {
    const at = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const both = { path: at, expected: one[name], evidence: other[name] };
    if (!Object.hasOwn(other, name)) return [{ ...both, evidence: undefined, status: 'missing' }];
    if (!Object.hasOwn(one, name)) return [{ ...both, expected: undefined, status: 'additional' }];
    return compareMembers(one[name], other[name], at);
  });
}

/** How many members there are of each status, without an opinion: `2 equal, 1 differs`. */
export function countMembers(members: readonly ComparedMember[]): string {
  const counts = (['equal', 'differs', 'missing', 'additional'] as const).map(
    (status) => [members.filter((one) => one.status === status).length, status] as const,
  );
  return counts.flatMap(([count, status]) => (count > 0 ? [`${count} ${status}`] : [])).join(', ');
}

function membersOf(value: unknown): Document | null {
  return typeof value === 'object' && value !== null ? (value as Document) : null;
}
