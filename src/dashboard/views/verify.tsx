// The page where anyone verifies a proof, by hash or file.
import { Button, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useLocation } from 'wouter';
import { Page } from '../ui/page.tsx';
import { FileDrop, FileResult } from './verify/file-result.tsx';
import type { Subject } from './verify/read-subject.ts';

export default function Verify() {
  const [, navigate] = useLocation();
  const [hash, setHash] = useState('');
  const [error, setError] = useState<string | null>(null);
  const [subject, setSubject] = useState<Subject | null>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const given = hash.trim().toLowerCase();
    if (/^0x[0-9a-f]{64}$/.test(given)) navigate(`/verify/${given}`);
    else setError('A proof hash is 0x and 64 hex digits.');
  };
  return (
    <Page
      title="Verify a proof"
      lead="Check whether evidence was anchored on the chain, when, and for which task."
    >
      <div className="grid-wide">
        <section className="card" aria-labelledby="by-hash">
          <h2 className="card-title" id="by-hash">
            By its hash
          </h2>
          <form onSubmit={submit} noValidate>
            <TextInput
              label="Proof hash"
              placeholder="0x…"
              autoComplete="off"
              spellCheck={false}
              value={hash}
              error={error}
              onChange={({ currentTarget }) => {
                setHash(currentTarget.value);
                setError(null);
              }}
            />
            <Button type="submit" mt="md">
              Verify
            </Button>
          </form>
        </section>
        <section className="card" aria-labelledby="by-file">
          <h2 className="card-title" id="by-file">
            By a file
          </h2>
          <FileDrop onSubject={setSubject} />
          <Text size="sm" c="dimmed" mt="sm">
            The file stays on this computer. The browser hashes it and sends only the hash.
          </Text>
        </section>
      </div>
      {subject && <FileResult subject={subject} />}
    </Page>
  );
}
