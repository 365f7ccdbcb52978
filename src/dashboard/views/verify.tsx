// The page where anyone verifies a proof, by a text or a file.
import { Button, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useLocation } from 'wouter';
import { Card } from '../ui/card.tsx';
import { Page } from '../ui/page.tsx';
import { FileDrop } from './verify/file-drop.tsx';
import { type Found, readFile, readText } from './verify/read-subject.ts';
import { SubjectResult } from './verify/subject-result.tsx';

export default function Verify() {
  const [, navigate] = useLocation();
  const [text, setText] = useState('');
  const [found, setFound] = useState<Found | null>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const read = readText(text);
    const address = addressOf(read);
    if (address === null) setFound(read);
    else navigate(...address);
  };
  return (
    <Page
      title="Verify a proof"
      lead="Check whether evidence was anchored on the chain, when, and for which task."
    >
      <div className="grid-wide">
        <Card title="By a hash, an id or an address">
          <form onSubmit={submit} noValidate>
            <TextInput
              label="Hash, task id, address or document"
              placeholder="0x…"
              autoComplete="off"
              spellCheck={false}
              value={text}
              onChange={({ currentTarget }) => setText(currentTarget.value)}
            />
            <Button type="submit" mt="md">
              Verify
            </Button>
          </form>
        </Card>
        <Card title="By a file">
          <FileDrop
            accept=".json,application/json"
            onFiles={async ([file]) => file && setFound(await readFile(file))}
          >
            Drop a receipt, a bundle or evidence here, or <u>choose a file</u>
          </FileDrop>
          <Text size="sm" c="dimmed" mt="sm">
            The file stays on this computer. The browser hashes it and sends only hash and task id.
          </Text>
        </Card>
      </div>
      {found && <SubjectResult found={found} />}
    </Page>
  );
}

/** The page to share of a hash or address, with what it was recognized as; null for anything else. */
function addressOf(found: Found): [string, { state: { kind: string } }] | null {
  if ('refusal' in found || !('proofHash' in found.recognized)) return null;
  const { kind, proofHash, taskId, stated } = found.recognized;
  if (stated !== null || kind === 'evidence') return null;
  const search = taskId === null ? '' : `?task_id=${taskId}`;
  return [`/verify/${proofHash}${search}`, { state: { kind } }];
}
