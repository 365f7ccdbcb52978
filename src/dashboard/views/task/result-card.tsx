// The expected result of a task and its evidence, member by member.
import { Text } from '@mantine/core';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Card } from '../../ui/card.tsx';
import { type ComparedMember, countMembers } from './comparison.ts';

const tones: Record<ComparedMember['status'], Tone> = {
  equal: 'plain',
  differs: 'warn',
  missing: 'warn',
  additional: 'plain',
};

const SHOWN = 100;
/** The documents are above in full. */
const TEXT_LENGTH = 160;

export function ResultCard({ members }: { members: readonly ComparedMember[] }) {
  return (
    <Card title="Expected result and evidence">
      <Text mb="sm">
        {countMembers(members)}. Compared by value: whether the work was done well is for you to
        judge.
      </Text>
      <table className="members">
        <thead>
          <tr>
            {['Member', 'Expected', 'Evidence', 'Comparison'].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {members.slice(0, SHOWN).map(({ path, expected, evidence, status }) => (
            <tr key={path}>
              <th scope="row">{path || 'the whole document'}</th>
              <td data-name="Expected">{textOf(expected)}</td>
              <td data-name="Evidence">{textOf(evidence)}</td>
              <td>
                <Badge tone={tones[status]}>{status}</Badge>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {members.length > SHOWN && (
        <p className="hint">
          The first {SHOWN} of {members.length} members are shown.
        </p>
      )}
    </Card>
  );
}

function textOf(value: unknown) {
  if (value === undefined) return <span className="dash">–</span>;
  const text = JSON.stringify(value);
  return <code>{text.length > TEXT_LENGTH ? `${text.slice(0, TEXT_LENGTH)}…` : text}</code>;
}
