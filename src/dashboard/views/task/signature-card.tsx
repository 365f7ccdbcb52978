// The robot's signature of a task: who signed, and the checks of it.
import { isProven } from '../../../proof/audit-check.ts';
import type { SigningReport } from '../../../proof/statements/audit-signing.ts';
import { reasonsOf, signedBy } from '../../../proof/subject/verdict.ts';
import { Card } from '../../ui/card.tsx';
import { Checks } from '../verify/checks.tsx';

export default function SignatureCard({ report }: { report: SigningReport }) {
  const { checks } = report;
  return (
    <Card title="Signature of the robot">
      {(isProven(checks) ? signedBy(report) : reasonsOf(checks)).map((text) => (
        <p className="hint" key={text}>
          {text}
        </p>
      ))}
      <Checks checks={checks} />
    </Card>
  );
}
