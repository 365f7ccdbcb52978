// A bundle that the service ships, checked in the browser. Its evidence can be changed, to see the check fail.
import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { auditBundleAlone } from '../../../proof/audit-bundle.ts';
import type { Bundle } from '../../../proof/bundle.ts';
import type { Proof } from '../../../proof/json-value.ts';
import { parseStrictJson } from '../../../proof/strict-json.ts';
import { unchangedSince } from '../../../proof/subject/verdict.ts';
import { Fold } from '../../ui/card.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Command } from '../../ui/values.tsx';
import { Checks } from '../verify/checks.tsx';
import { refutation, Verdict } from '../verify/verdict.tsx';

const ADDRESS = '/sample-bundle.json';

export default function Sample() {
  const query = useQuery({
    queryKey: ['sample'],
    queryFn: async ({ signal }) => {
      const response = await fetch(ADDRESS, { signal });
      // A file of the service, which a test verifies.
      return (await response.json()) as Bundle;
    },
    refetchInterval: false,
  });
  return (
    <Loaded query={query} what="sample">
      {(bundle) => <CheckedSample bundle={bundle} />}
    </Loaded>
  );
}

function CheckedSample({ bundle }: { bundle: Bundle }) {
  const id = useId();
  const [text, setText] = useState(() => JSON.stringify(bundle.proof, null, 2));
  const checks = auditBundleAlone({ ...bundle, proof: proofOf(text) });
  const isSound = checks.every(({ ok }) => ok);
  const { claim, task, anchor } = bundle;
  return (
    <div className="stack">
      <Text>
        Evidence of “{claim.title}” by {task.robot_name}. Change it, and see the verdict change.
      </Text>
      <div className="landing-evidence">
        <label htmlFor={id}>Evidence</label>
        <textarea
          id={id}
          rows={4}
          spellCheck={false}
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
      </div>
      {isSound ? (
        <Verdict
          tone="good"
          title="Verified in this browser"
          text={`${unchangedSince(anchor.anchored_at, { evidence: true })} This holds if block ${anchor.block_number} is in the chain. This sample is from a test chain.`}
        />
      ) : (
        <Verdict {...refutation(checks)} />
      )}
      <Fold title={`${checks.length} checks, without a network`}>
        <Checks checks={checks} />
      </Fold>
      <Command
        value={`curl -sO ${window.location.origin}${ADDRESS}\nsvc verify sample-bundle.json --block-hash ${anchor.block_hash}`}
        what="commands"
      />
    </div>
  );
}

/** Any text that is not JSON is changed evidence too. */
function proofOf(text: string): Proof {
  try {
    const json = parseStrictJson(text);
    return typeof json === 'object' && json !== null ? (json as Proof) : [json];
  } catch {
    return [text];
  }
}
