// What a document that matches a proof has: the claim, the expected result and the evidence.
import type { Subject } from '../../../proof/subject/subject.ts';
import { Card } from '../../ui/card.tsx';
import { Json } from '../../ui/values.tsx';

/** Nothing for a hash or a receipt. */
export function Work({ subject: { bundle, proof } }: { subject: Subject }) {
  const { title, description, expected_result } = bundle?.claim ?? {};
  return (
    <>
      {title !== undefined && (
        <Card title="Claim">
          <strong>{title}</strong>
          {description && <p className="description">{description}</p>}
          {expected_result && (
            <>
              <h3 className="card-title sub-title">Expected result</h3>
              <Json value={expected_result} what="expected result" />
            </>
          )}
        </Card>
      )}
      {proof && (
        <Card title="Evidence">
          <Json value={proof} what="evidence" />
        </Card>
      )}
    </>
  );
}
